import type { IncomingMessage } from 'node:http';
import { RequestRefusal } from '../http/request-refusal.js';

/** Header that the console's page sends. A page of another origin cannot send it, unless it is allowed to. */
export const CONSOLE_HEADER = 'x-analytics-console';

/**
 * `Sec-Fetch-Site` of requests from this application's own pages, and of those that the user makes directly.
 */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', ':80'],
  ['https:', ':443'],
]);

/**
 * Refuses a change, or an event stream, that a page of another origin requests. A client that is not a browser sends
 * neither `Sec-Fetch-Site` nor `Origin`, and has no cookies that another page could use.
 *
 * @throws {RequestRefusal}
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  // Browsers send no `Sec-Fetch-Site` over plain HTTP, except to the machine itself.
  const isOwn = typeof site === 'string' ? OWN_SITES.includes(site) : isOwnOrigin(headers);
  if (isOwn) return;
  throw new RequestRefusal(
    403,
    'CROSS_ORIGIN',
    'A page of another origin sent this request: serve the page from the origin of the API.',
  );
}

/** @throws {RequestRefusal} if the request does not come from the console's page */
export function checkConsoleHeader({ headers }: IncomingMessage): void {
  if (headers[CONSOLE_HEADER] !== undefined) return;
  throw new RequestRefusal(
    403,
    'CONSOLE_HEADER_MISSING',
    `This API is for the page of the console: send the header \`${CONSOLE_HEADER}: 1\`, or turn on ` +
      '`destinations.api` for other pages.',
  );
}

function isOwnOrigin(headers: IncomingMessage['headers']): boolean {
  const { origin, host, ':authority': authority, 'x-forwarded-host': forwarded } = headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, host: expected } = new URL(origin);
  // HTTP/2 has `:authority` in place of `Host`.
  const own = [host, authority, ...[forwarded].flat().flatMap((names) => names?.split(',') ?? [])];
  const names = own.flatMap((name) => (typeof name === 'string' ? name.trim().toLowerCase() : []));
  // A browser leaves the default port out, while a proxy may send it.
  return names.includes(expected) || names.includes(expected + (DEFAULT_PORTS.get(protocol) ?? ''));
}
