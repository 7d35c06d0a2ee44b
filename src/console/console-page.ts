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

/** The page itself. Both paths consist of characters that need no escaping. */
export function pageAnswer(path: string, apiPath: string, { tenant }: DestinationScope): HttpAnswer {
  // Encoded, it has no character that would have to be escaped.
  const attribute = tenant === undefined ? ' data-operator' : ` data-tenant="${encodeURIComponent(tenant)}"`;
  return shellAnswer(path, apiPath, attribute);
}

/** The page that a link opens: the same for everybody. Other pages may show it in a frame if they are named. */
export function linkPageAnswer(path: string, apiPath: string, frameAncestors: readonly string[]): HttpAnswer {
  const answer = shellAnswer(path, apiPath, ' data-link');
  const policy = policyFor(frameAncestors);
  return { ...answer, headers: { ...answer.headers, 'content-security-policy': policy } };
}

function shellAnswer(path: string, apiPath: string, attribute: string): HttpAnswer {
  return htmlAnswer(
    200,
    `<link rel="stylesheet" href="${path}/page.css"><script type="module" src="${path}/page.js"></script>`,
    `<main id="page" data-console="${path}" data-api="${apiPath}"${attribute}><noscript>This page needs JavaScript.</noscript></main>`,
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
