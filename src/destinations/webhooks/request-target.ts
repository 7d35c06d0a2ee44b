/** Where a request goes, in the parts that the HTTP client asks for: taken from a URL once, not for every request. */
export interface RequestTarget {
  origin: string;
  /** Path and query. */
  path: string;
}

export function requestTarget({ origin, pathname, search }: URL): RequestTarget {
  return { origin, path: pathname + search };
}
