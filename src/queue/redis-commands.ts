type RedisArgument = string | number;

/**
 * What other rooms may ask of the queue's Redis. Told by its shape, so that the types of this package do
 * not need `ioredis`, which an application may not have.
 */
export interface RedisCommands {
  eval(script: string, numberOfKeys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown>;
}
