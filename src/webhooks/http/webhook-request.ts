import { MAX_REST_BYTES } from './response-reader.js';

/** The target of a request, in the parts that the HTTP client needs. Parsed once per URL, not per request. */
export interface RequestTarget {
  origin: string;
  /** Path and query. */
  path: string;
}

export function requestTarget({ origin, pathname, search }: URL): RequestTarget {
  return { origin, path: pathname + search };
}

/**
 * The headers of a request, as alternating names and values, or a function that returns them if they contain the time
 * of the request. The function is called with the start of the request, in milliseconds since the epoch: under load,
 * that is long after the request was handed over.
 */
export type RequestHeaders = string[] | ((at: number) => string[]);

/** Returns the headers of a request that begins at this time. */
export function headersAt(headers: RequestHeaders, at: number): string[] {
  return typeof headers === 'function' ? headers(at) : headers;
}

/** Returns the headers with a `traceparent`, in place of any that the customer has configured. */
export function withTraceparent(headers: RequestHeaders, traceparent: string): RequestHeaders {
  if (typeof headers === 'function') return (at) => traced(headers(at), traceparent);
  return traced(headers, traceparent);
}

function traced(headers: readonly string[], traceparent: string): string[] {
  return [...withoutTraceparent(headers), 'traceparent', traceparent];
}

/** Copies the headers only if they contain a `traceparent`: hardly any customer has configured one. */
function withoutTraceparent(headers: readonly string[]): readonly string[] {
  for (let index = 0; index < headers.length; index += 2) {
    if (isTraceparent(headers[index])) {
      return headers.filter((_, at) => !isTraceparent(headers[at - (at % 2)]));
    }
  }
  return headers;
}

function isTraceparent(name = ''): boolean {
  return name.length === 'traceparent'.length && name.toLowerCase() === 'traceparent';
}

/**
 * How much is read of a body that counts, in bytes: everything that may follow a head. Most lists of 20 refused
 * messages are shorter.
 */
export const READ_BODY_BYTES = MAX_REST_BYTES;

export interface WebhookRequest {
  target: RequestTarget;
  headers: RequestHeaders;
  body: Buffer;
  /**
   * Milliseconds for DNS, connect, TLS, request and response together. The time starts when a connection slot is free
   * and the look-up of the host has its turn. It restarts once if the process stood still before anything was sent.
   */
  timeout: number;
  /** Ends the request without a response. */
  signal: AbortSignal;
  /**
   * Whether the beginning of the body of a 2xx response counts. If so, the body has the rest of the time. Otherwise the
   * status alone counts.
   */
  readsBody?: boolean;
  /** Called at the first byte of a response. */
  onFirstByte?: () => void;
}
