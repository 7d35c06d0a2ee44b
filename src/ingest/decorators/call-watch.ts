import { types } from 'node:util';
import { isObservable, type Observable } from 'rxjs';
import type { CallOutcome } from './decorator-definition.js';
import { type Reactions, watchThenable } from './watched-thenables.js';

/** Called with the outcome of a call. Must not throw. */
export type OutcomeListener = (outcome: CallOutcome) => void;

/** Watches an Observable, and calls the listener when a subscription ends. */
type Observe = (observable: Observable<unknown>, onEnd: OutcomeListener) => void;

/**
 * Runs a method and reports its outcome, without changing it: the object that it returns is returned, the
 * error that it throws is thrown, and nothing becomes asynchronous. A promise is watched from now on, an Observable
 * or another thenable, such as a query, when the caller subscribes to it or awaits it. A generator, which has not run
 * yet, counts as the result itself.
 *
 * @param observe watches the Observable that the method returned, or that its promise resolved to
 */
export function watchCall(run: () => unknown, onOutcome: OutcomeListener, observe: Observe): unknown {
  let returned: unknown;
  try {
    returned = run();
  } catch (error) {
    onOutcome({ failed: true, result: undefined, error });
    throw error;
  }
  if (isObservable(returned)) observe(returned, onOutcome);
  else if (isPromise(returned)) {
    const { fulfilled, rejected } = reactionsOf(onOutcome, observe);
    // A branch beside the promise, which itself goes to the caller without an extra tick.
    void Promise.prototype.then.call(returned, fulfilled, rejected);
  } else if (!isObject(returned) || !watchThenable(returned, reactionsOf(onOutcome, observe)))
    onOutcome({ failed: false, result: returned, error: undefined });
  return returned;
}

/**
 * A promise that settles whether or not its `then` is called: one that `await` takes as it is, or one of any realm, or of
 * a subclass, that leaves `then` as it is.
 */
function isPromise(value: unknown): value is Promise<unknown> {
  if (!types.isPromise(value)) return false;
  // Then `await` does not look at its `then`, not even at one of its own.
  if (value.constructor === Promise) return true;
  let owner: unknown = value;
  while (isObject(owner) && !Object.hasOwn(owner, 'then')) owner = Object.getPrototypeOf(owner);
  // Above the prototype of all promises there is only that of all objects.
  const above: unknown = isObject(owner) ? Object.getPrototypeOf(owner) : undefined;
  return isObject(above) && Object.getPrototypeOf(above) === null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * What a promise or another thenable is watched with. An Observable that it resolves to is watched before anybody can
 * subscribe to it. That is the result, as the types say, and the call ends when it does.
 */
function reactionsOf(onOutcome: OutcomeListener, observe: Observe): Reactions {
  return {
    fulfilled: (result) => {
      if (!isObservable(result)) onOutcome({ failed: false, result, error: undefined });
      else
        observe(result, (end) => {
          onOutcome(end.failed ? end : { ...end, result });
        });
    },
    rejected: (error) => {
      onOutcome({ failed: true, result: undefined, error });
    },
  };
}
