import { headersAt, type RequestHeaders } from '../http/webhook-request.js';
import { isReservedHeader } from '../../options/header-rules.js';
import { requestedUrl } from '../../options/webhook-url.js';

/** A request as it would be sent to one URL, byte for byte. */
export interface ExplainedRequest {
  method: 'POST';
  /** The URL without its fragment, which is never sent. */
  url: string;
  /** Name and value of each header, as written and in the order on the wire. */
  headers: [name: string, value: string][];
  /** The value of `X-Signature`; absent if the destination has no shared secret. */
  signature?: string;
  /** Exactly the bytes of the body. */
  body: Buffer;
  /** A line for a POSIX shell that makes the same request. */
  curl: string;
}

/** Headers that curl writes by itself, exactly as this module does. */
const OWN_HEADERS = new Set(['host', 'content-length']);

/** Text in place of a secret. */
const HIDDEN = '(hidden)';

/** Headers that curl would add of its own accord. */
const UNWANTED_HEADERS = ['Accept:', 'Expect:'];

/** @param at when the request would begin, in milliseconds since the epoch */
export function explainRequest(
  target: URL,
  headers: RequestHeaders,
  body: Buffer,
  at: number,
): ExplainedRequest {
  const url = requestedUrl(target);
  const lines: [string, string][] = [
    // Headers that the HTTP client itself writes.
    ['host', target.host],
    ['connection', 'keep-alive'],
    ...pairs(headersAt(headers, at)),
    ['content-length', String(body.length)],
  ];
  const signature = lines.find(([name]) => name === 'X-Signature')?.[1];
  return {
    method: 'POST',
    url,
    headers: lines,
    ...(signature !== undefined && { signature }),
    body,
    curl: curlCommand({ url, headers: lines, body }),
  };
}

/**
 * Returns the request for readers who may not know its secrets: without the values of headers that the customer set.
 *
 * @param isPathSecret whether everything after the origin of the URL is left out, too
 */
export function withoutSecrets(request: ExplainedRequest, isPathSecret: boolean): ExplainedRequest {
  const url = isPathSecret ? `${new URL(request.url).origin}/${HIDDEN}` : request.url;
  const headers = request.headers.map(([name, value]): [string, string] => [
    name,
    isReservedHeader(name) ? value : HIDDEN,
  ]);
  const shown = { ...request, url, headers };
  return { ...shown, curl: curlCommand(shown) };
}

function pairs(namesAndValues: readonly string[]): [string, string][] {
  return namesAndValues.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, namesAndValues[index + 1] ?? '']] : [],
  );
}

/** Returns a POSIX shell command that makes the same request with `curl`, and shows the response with its head. */
function curlCommand({ url, headers, body }: Pick<ExplainedRequest, 'url' | 'headers' | 'body'>): string {
  const own = headers.filter(([name]) => !OWN_HEADERS.has(name));
  const words = [
    // The URL is literal, including brackets and braces.
    ...['curl', '--include', '--http1.1', '--globoff', '--request', 'POST'],
    ...[...own.map(headerArgument), ...UNWANTED_HEADERS].flatMap((header) => ['--header', header]),
    // Raw: with the other forms, a body that begins with `@` would read a file.
    ...['--data-raw', body.toString('utf8')],
    url,
  ];
  return words.map(quote).join(' ');
}

/**
 * For curl, a name with a colon and nothing after it removes the header. With a semicolon it sends the header
 * empty.
 */
function headerArgument([name, value]: readonly [string, string]): string {
  return value === '' ? `${name};` : `${name}: ${value}`;
}

/** In single quotes the shell treats nothing as special, except the single quote itself. */
function quote(word: string): string {
  return /^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
