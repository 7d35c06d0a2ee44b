import type { DestinationsApiOptions } from './destinations-options.interface.js';

/** Options of the page that manages destinations and shows what happened to their events. */
export interface ConsoleOptions {
  /** Path of the page. @default '/analytics' */
  path?: string | undefined;
  /**
   * Returns who sends a request, as in `destinations.api`: a tenant, which sees nothing of other tenants, or the
   * operator. Without `destinations.api`, the API that the page uses, at `<path>/destinations`, calls this too.
   */
  authorize: DestinationsApiOptions['authorize'];
  /**
   * Pages that may show the page of a `ConsoleService.linkFor` in a frame: `'self'` for pages of this application,
   * and origins such as `https://app.example.com`. The page that calls `authorize` cannot be shown in a frame.
   * @default []
   */
  frameAncestors?: string[] | undefined;
}
