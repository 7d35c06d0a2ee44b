import { AsyncResource } from 'node:async_hooks';
import type { Clock } from './clock.js';

/**
 * The asynchronous context of whoever made it. A promise or a timer of a call keeps what the call's context has, such as
 * a whole request with its body, for as long as it waits. And what is shared must not run in a context that an
 * `AsyncLocalStorage` of the application has for one call, such as that of a transaction.
 */
export class OwnContext {
  private readonly resource = new AsyncResource('nestjs-analytics');

  run<T>(work: () => T): T {
    return this.resource.runInAsyncScope(work);
  }

  /** A clock whose callbacks run here. */
  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      after: (milliseconds, callback) => this.run(() => clock.after(milliseconds, callback)),
      afterUnlessIdle: (milliseconds, callback) =>
        this.run(() => clock.afterUnlessIdle(milliseconds, callback)),
      soon: (callback) => {
        this.run(() => {
          clock.soon(callback);
        });
      },
    };
  }
}
