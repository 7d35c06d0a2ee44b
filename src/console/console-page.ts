import type { IncomingMessage } from 'node:http';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { type HttpAnswer, retryAfterHeader } from '../http/http-answer.js';
import type { RequestRefusal } from '../http/request-refusal.js';
import { LINK_PATH } from './console.service.js';

/** Everything comes from this application, and nothing is written into the page. */
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

/** The files of the page, as the build has made them, with their types. */
const FILES = { '/page.js': 'text/javascript', '/page.css': 'text/css' } as const;

export type ConsoleFile = keyof typeof FILES;

/** The paths of the console, below its own. */
export const CONSOLE_PATHS = ['', LINK_PATH, ...Object.keys(FILES)];

export function isConsoleFile(path: string): path is ConsoleFile {
  return Object.hasOwn(FILES, path);
}

/** Where the page finds the rest. All of it consists of characters that need no escaping. */
export interface PagePlaces {
  /** Of the console. */
  path: string;
  /** Of the API that it speaks to. */
  apiPath: string;
  /** What leads from the page to the root of the application. */
  root: string;
}

/**
 * What leads from the path of a request to the root of the application, and ends with a slash. A browser may know the
 * application under a path of a proxy that is not passed on, so the page must not name one from the root of the host.
 */
export function rootFrom({ url = '', originalUrl }: IncomingMessage & { originalUrl?: string }): string {
  // The application itself may have replaced the path by that of the console.
  const address = originalUrl === undefined || originalUrl.endsWith(url) ? url : originalUrl;
  const depth = address.replace(/[?#].*$/s, '').split('/').length - 2;
  return depth > 0 ? '../'.repeat(depth) : './';
}

/** The page itself. */
export function pageAnswer(places: PagePlaces, { tenant }: DestinationScope): HttpAnswer {
  // Encoded, it has no character that would have to be escaped.
  const attribute = tenant === undefined ? ' data-operator' : ` data-tenant="${encodeURIComponent(tenant)}"`;
  return shellAnswer(places, attribute);
}

/** The page that a link opens: the same for everybody. Other pages may show it in a frame if they are named. */
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

/** @param refusal whose text holds nothing that needs escaping */
export function refusedPageAnswer({ status, message, retryAfter }: RequestRefusal): HttpAnswer {
  const answer = htmlAnswer(status, '', `<main><p>${message}</p></main>`);
  return { ...answer, headers: { ...answer.headers, ...retryAfterHeader(retryAfter) } };
}

export async function fileAnswer(file: ConsoleFile): Promise<HttpAnswer> {
  const { SCRIPT, STYLES } = await import('#console-page');
  const body = file === '/page.js' ? SCRIPT : STYLES;
  return { status: 200, headers: { ...HEADERS, 'content-type': `${FILES[file]}; charset=utf-8` }, body };
}

/** @param frameAncestors origins of pages that may show it in a frame */
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
