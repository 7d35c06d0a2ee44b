import type { IncomingMessage } from 'node:http';
import { RequestRefusal } from '../http/request-refusal.js';

/** The header that the console's page sends. A page of another origin cannot, unless it is allowed to. */
export const CONSOLE_HEADER = 'x-analytics-console';

/** What a browser says of a request of this application's own pages, or of the reader. */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

/**
 * Refuses a change that a page of another origin asks for. Whatever is no browser says nothing of origins, and
 * has no cookies that somebody else could use.
 *
 * @throws {RequestRefusal}
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  // Browsers name no site where the page came over plain HTTP, except from the machine itself.
  const isOwn = typeof site === 'string' ? OWN_SITES.includes(site) : isOwnOrigin(headers);
  if (isOwn) return;
  throw new RequestRefusal(
    403,
    'CROSS_ORIGIN',
    'A page of another origin sent this request: serve the page from the origin of the API.',
  );
}

/** @throws {RequestRefusal} for a change that does not come from the console's page */
export function checkConsoleHeader({ headers }: IncomingMessage): void {
  if (headers[CONSOLE_HEADER] !== undefined) return;
  throw new RequestRefusal(
    403,
    'CONSOLE_HEADER_MISSING',
    `This API is for the page of the console: send the header \`${CONSOLE_HEADER}: 1\`, or turn on ` +
      '`destinations.api` for other pages.',
  );
}

function isOwnOrigin({ origin, host, 'x-forwarded-host': forwarded }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return true;
  const own = [host, ...[forwarded].flat().flatMap((names) => names?.split(',') ?? [])];
  return URL.canParse(origin) && own.some((name) => name?.trim().toLowerCase() === new URL(origin).host);
}
