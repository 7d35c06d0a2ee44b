/**
 * Reads what the framework knows of a request by way of the proxies that the application trusts: its `ip`, `host` and
 * `protocol`. `undefined` where the application's function that says whom it trusts throws, as it may for a header from
 * outside: the host's own code may never ask for these, so the request must not fail for it.
 */
export function frameworkValue<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
