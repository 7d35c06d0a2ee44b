/** What an application's own store has thrown. */
const thrown = new WeakSet();

/** Calls the application's own store, whose errors `isOfOwnStore` knows from then on. */
export async function askOwnStore<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (typeof error === 'object' && error !== null) thrown.add(error);
    throw error;
  }
}

/**
 * Whether the application's own store has thrown this. Its database may fail with the codes of that of the queue, of which
 * that says nothing.
 */
export function isOfOwnStore(error: unknown): boolean {
  return typeof error === 'object' && error !== null && thrown.has(error);
}
