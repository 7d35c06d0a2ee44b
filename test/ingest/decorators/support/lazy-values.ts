/** Mimics queries of database libraries: it runs when one of its methods is called, and no method calls another. */
export class LazyQuery implements Promise<string> {
  readonly [Symbol.toStringTag] = 'LazyQuery';
  runs = 0;
  failure: Error | undefined;

  then<A = string, B = never>(
    onFulfilled?: ((value: string) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.run().then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<string | B> {
    return this.run().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<string> {
    return this.run().finally(onFinally);
  }

  private run(): Promise<string> {
    this.runs++;
    return this.failure === undefined ? Promise.resolve('rows') : Promise.reject(this.failure);
  }
}

/** Mimics the promises of some HTTP clients: only `then` reads the response. */
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
