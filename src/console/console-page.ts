import type { IncomingMessage } from 'node:http';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { type HttpAnswer, retryAfterHeader } from '../http/http-answer.js';
import type { RequestRefusal } from '../http/request-refusal.js';
import type { ConsolePath } from '../options/resolve-console.js';

/** Content security policy: everything is loaded from this application, and no script or style is inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
];

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': policyFor([]),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Files of the page that the build creates, with their content types. */
const FILES = { '/page.js': 'text/javascript', '/page.css': 'text/css' } as const satisfies Partial<
  Record<ConsolePath, string>
>;

export type ConsoleFile = keyof typeof FILES;

export function isConsoleFile(path: string): path is ConsoleFile {
  return Object.hasOwn(FILES, path);
}

/** Paths that the page needs. None has a character that needs escaping. */
export interface PagePlaces {
  /** Path of the console. */
  path: string;
  /** Path of the API that the page calls. */
  apiPath: string;
  /** Relative path from the page to the root of the application. */
  root: string;
}

/**
 * Returns the relative path from a request's path to the root of the application, with a slash at the end. A proxy may
 * serve the application below a path that it does not pass on, so the page must not use paths from the host's root.
 */
export function rootFrom({ url = '', originalUrl }: IncomingMessage & { originalUrl?: string }): string {
  // The application itself may have rewritten the path to that of the console. The browser only knows the original.
  const address = originalUrl === undefined || originalUrl.endsWith(url) ? url : originalUrl;
  const depth = address.replace(/[?#].*$/s, '').split('/').length - 2;
  return depth > 0 ? '../'.repeat(depth) : './';
}

/** Returns the page of a tenant, or of the operator. */
export function pageAnswer(places: PagePlaces, { tenant }: DestinationScope): HttpAnswer {
  // An encoded name has no character that needs escaping.
  const attribute = tenant === undefined ? ' data-operator' : ` data-tenant="${encodeURIComponent(tenant)}"`;
  return shellAnswer(places, attribute);
}

/** Returns the page that a link opens, the same for everybody. Pages of `frameAncestors` may show it in a frame. */
export function linkPageAnswer(places: PagePlaces, frameAncestors: readonly string[]): HttpAnswer {
  const answer = shellAnswer(places, ' data-link');
  const policy = policyFor(frameAncestors);
  return { ...answer, headers: { ...answer.headers, 'content-security-policy': policy } };
}

function shellAnswer({ path, apiPath, root }: PagePlaces, attribute: string): HttpAnswer {
  const files = root + path.slice(1);
  return htmlAnswer(
    200,
    `<link rel="stylesheet" href="${files}/page.css"><script type="module" src="${files}/page.js"></script>`,
    `<main id="page" data-root="${root}" data-console="${path}" data-api="${apiPath}"${attribute}><noscript>This page needs JavaScript.</noscript></main>`,
  );
}

/** @param refusal its message has no character that needs escaping */
export function refusedPageAnswer({ status, message, retryAfter }: RequestRefusal): HttpAnswer {
  const answer = htmlAnswer(status, '', `<main><p>${message}</p></main>`);
  return { ...answer, headers: { ...answer.headers, ...retryAfterHeader(retryAfter) } };
}

export async function fileAnswer(file: ConsoleFile): Promise<HttpAnswer> {
  const { SCRIPT, STYLES } = await import('#console-page');
  const body = file === '/page.js' ? SCRIPT : STYLES;
  return { status: 200, headers: { ...HEADERS, 'content-type': `${FILES[file]}; charset=utf-8` }, body };
}

/** @param frameAncestors origins whose pages may show this page in a frame */
function policyFor(frameAncestors: readonly string[]): string {
  const ancestors = frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ');
  return [...POLICY, `frame-ancestors ${ancestors}`].join('; ');
}

function htmlAnswer(status: number, head: string, body: string): HttpAnswer {
  const start =
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Analytics</title>' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">';
  return {
    status,
    headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' },
    body: `${start}${head}</head><body>${body}</body></html>`,
  };
}
