import type { DestinationsApiOptions } from './destinations-options.interface.js';

/** A page of the application on which destinations are managed, and what became of their events is shown. */
export interface ConsoleOptions {
  /** Where the page is. @default '/analytics' */
  path?: string | undefined;
  /**
   * Who asks, as in `destinations.api`: a tenant, which sees nothing of the others, or the operator. Without
   * `destinations.api` it is also asked by the API that the page speaks to, at `<path>/destinations`.
   */
  authorize: DestinationsApiOptions['authorize'];
  /**
   * Which pages may show the page of a `ConsoleService.linkFor` in a frame: `'self'` for those of this
   * application, and origins such as `https://app.example.com`. The page that asks `authorize` is shown in no
   * frame. @default []
   */
  frameAncestors?: string[] | undefined;
}
