/**
 * The headers of a request, names and values in turn. A function where they hold the time of the request: it
 * is given the moment at which the request begins, in milliseconds since the epoch, which under load is long
 * after it was handed over.
 */
export type RequestHeaders = string[] | ((at: number) => string[]);

/** The headers of a request that begins at this moment. */
export function headersAt(headers: RequestHeaders, at: number): string[] {
  return typeof headers === 'function' ? headers(at) : headers;
}
