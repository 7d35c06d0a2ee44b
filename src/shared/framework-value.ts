/**
 * Reads a property of a request that depends on the proxies that the application trusts: `ip`, `host` or `protocol`.
 * Returns `undefined` if the application's function for trusted proxies throws, as it may for a header from outside.
 * The host's own code may never read these properties, so the request must not fail because of that.
 */
export function frameworkValue<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
