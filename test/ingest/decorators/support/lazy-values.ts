/** As query builders are: nothing happens before `then` is called. */
export class LazyQuery implements PromiseLike<string> {
  runs = 0;

  then<A = string, B = never>(
    onFulfilled?: ((value: string) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.runs++;
    return Promise.resolve('rows').then(onFulfilled, onRejected);
  }
}

/** As the promises of some HTTP clients are: `then` reads the response, other methods leave it alone. */
export class LazyPromise extends Promise<string> {
  runs = 0;

  override then<A = string, B = never>(
    onFulfilled?: ((value: string) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.runs++;
    return Promise.resolve('answer').then(onFulfilled, onRejected);
  }
}
