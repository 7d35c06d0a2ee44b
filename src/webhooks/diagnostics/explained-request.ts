import { curlCommand } from './curl-command.js';
import { headersAt, type RequestHeaders } from './request-headers.js';
import { requestedUrl } from './webhook-url.js';

/** A request as it would be sent to one URL, byte for byte. */
export interface ExplainedRequest {
  method: 'POST';
  /** The URL, without its fragment: that is never sent. */
  url: string;
  /** Name and value of each header, as written and in the order on the wire. */
  headers: [name: string, value: string][];
  /** The value of `X-Signature`; absent when the destination has no shared secret. */
  signature?: string;
  /** Exactly the bytes of the body. */
  body: Buffer;
  /** A line for a POSIX shell that makes the same request. */
  curl: string;
}

/** @param at when the request would begin, in milliseconds since the epoch */
export function explainRequest(
  target: URL,
  headers: RequestHeaders,
  body: Buffer,
  at: number,
): ExplainedRequest {
  const url = requestedUrl(target);
  const lines: [string, string][] = [
    // What the HTTP client itself writes.
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

function pairs(namesAndValues: readonly string[]): [string, string][] {
  return namesAndValues.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, namesAndValues[index + 1] ?? '']] : [],
  );
}
