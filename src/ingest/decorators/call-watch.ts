import { types } from 'node:util';
import { isObservable, type Observable } from 'rxjs';
import type { CallOutcome } from './decorator-definition.js';
import { type Reactions, watchThenable } from './watched-thenables.js';

/** Called with the outcome of a call. Must not throw. */
export type OutcomeListener = (outcome: CallOutcome) => void;

/** Watches an Observable, and calls the listener when a subscription ends. */
type Observe = (observable: Observable<unknown>, onEnd: OutcomeListener) => void;

/**
 * Runs a method and reports its outcome without changing it: the caller gets the object that the method returns or the
 * error that it throws, and nothing becomes asynchronous. A promise is watched at once. An Observable is watched when
 * the caller subscribes to it, and another thenable, such as a query, when the caller awaits it. A generator has not
 * run yet, so it counts as the result itself.
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
  if (isStream(returned)) observe(returned, onOutcome);
  else if (isPromise(returned)) {
    const { fulfilled, rejected } = reactionsOf(onOutcome, observe);
    // Adds a branch to the promise. The promise itself goes to the caller without an extra tick.
    void Promise.prototype.then.call(returned, fulfilled, rejected);
  } else if (!isObject(returned) || !watchThenable(returned, reactionsOf(onOutcome, observe)))
    onOutcome({ failed: false, result: returned, error: undefined });
  return returned;
}

/** Returns whether a value is an Observable. A value whose getters or proxy traps throw is not. */
function isStream(value: unknown): value is Observable<unknown> {
  try {
    return isObservable(value);
  } catch {
    return false;
  }
}

/**
 * Returns whether a value is a promise that settles whether or not its `then` is called: a promise that `await` takes
 * as it is, or a promise of any realm or subclass that does not override `then`.
 */
function isPromise(value: unknown): value is Promise<unknown> {
  if (!types.isPromise(value)) return false;
  // `await` does not use the `then` of such a promise, even if the promise has its own.
  if (value.constructor === Promise) return true;
  let owner: unknown = value;
  while (isObject(owner) && !Object.hasOwn(owner, 'then')) owner = Object.getPrototypeOf(owner);
  // The owner of an unchanged `then` is a realm's `Promise.prototype`, with only `Object.prototype` above it.
  const above: unknown = isObject(owner) ? Object.getPrototypeOf(owner) : undefined;
  return isObject(above) && Object.getPrototypeOf(above) === null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Returns the reactions that watch a promise or another thenable. If it resolves to an Observable, the Observable is
 * watched before anybody can subscribe to it. The Observable is the result, as the types say, and the call ends when
 * the Observable does.
 */
function reactionsOf(onOutcome: OutcomeListener, observe: Observe): Reactions {
  return {
    fulfilled: (result) => {
      if (!isStream(result)) onOutcome({ failed: false, result, error: undefined });
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
