/** A promise that a test resolves from outside. */
export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export function deferred(): Deferred {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}
