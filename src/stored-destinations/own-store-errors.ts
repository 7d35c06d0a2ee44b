/** Errors that an application's own store has thrown. */
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
 * Whether the application's own store has thrown this error. The store's database may fail with the same codes as the
 * queue's database, but such an error says nothing about the queue.
 */
export function isOfOwnStore(error: unknown): boolean {
  return typeof error === 'object' && error !== null && thrown.has(error);
}
