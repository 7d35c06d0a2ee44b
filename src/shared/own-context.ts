import { AsyncResource } from 'node:async_hooks';
import type { Clock } from './clock.js';

/**
 * The asynchronous context in which this object was made. A promise or timer made in a call keeps the call's context,
 * such as a whole request with its body, for as long as it waits. And shared work must not run in the context that an
 * `AsyncLocalStorage` of the application has for one call, such as that of a transaction.
 */
export class OwnContext {
  private readonly resource = new AsyncResource('nestjs-analytics');

  run<T>(work: () => T): T {
    return this.resource.runInAsyncScope(work);
  }

  /** Returns a clock whose callbacks run in this context. */
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
