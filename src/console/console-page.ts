import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '#package-root';
import type { DestinationScope } from '../destinations/destinations.types.js';
import { type HttpAnswer, retryAfterHeader } from '../http/http-answer.js';
import type { RequestRefusal } from '../http/request-refusal.js';

/** Everything comes from this application, nothing is written into the page, and no other page may show it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** The files of the page, as the build has made them, with their types. */
const FILES = { '/page.js': 'text/javascript', '/page.css': 'text/css' } as const;

export type ConsoleFile = keyof typeof FILES;

/** The paths of the console, below its own. */
export const CONSOLE_PATHS = ['', ...Object.keys(FILES)];

export function isConsoleFile(path: string): path is ConsoleFile {
  return Object.hasOwn(FILES, path);
}

/** The page itself. Both paths consist of characters that need no escaping. */
export function pageAnswer(path: string, apiPath: string, { tenant }: DestinationScope): HttpAnswer {
  const operator = tenant === undefined ? ' data-operator' : '';
  return htmlAnswer(
    200,
    `<link rel="stylesheet" href="${path}/page.css"><script type="module" src="${path}/page.js"></script>`,
    `<main id="page" data-api="${apiPath}"${operator}><noscript>This page needs JavaScript.</noscript></main>`,
  );
}

/** @param refusal whose text holds nothing that needs escaping */
export function refusedPageAnswer({ status, message, retryAfter }: RequestRefusal): HttpAnswer {
  const answer = htmlAnswer(status, '', `<main><p>${message}</p></main>`);
  return { ...answer, headers: { ...answer.headers, ...retryAfterHeader(retryAfter) } };
}

export async function fileAnswer(file: ConsoleFile): Promise<HttpAnswer> {
  const body = await readFile(join(PACKAGE_ROOT, 'dist/esm/console', file), 'utf8');
  return { status: 200, headers: { ...HEADERS, 'content-type': `${FILES[file]}; charset=utf-8` }, body };
}

function htmlAnswer(status: number, head: string, body: string): HttpAnswer {
  const start =
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Destinations</title>' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">';
  return {
    status,
    headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' },
    body: `${start}${head}</head><body>${body}</body></html>`,
  };
}
