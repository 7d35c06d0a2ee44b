import { types } from 'node:util';
import { defer, isObservable, type Observable, tap } from 'rxjs';
import type { CallOutcome } from './track-definition.js';

/** Told what a call came to. Must not throw. */
export type OutcomeListener = (outcome: CallOutcome) => void;

/**
 * Runs a method and tells what it came to, without changing any of it: what it returns is returned, what
 * it throws is thrown, and nothing becomes asynchronous. Of thenables, only promises are waited for: others,
 * such as query builders, start their work when their `then` is called, and so count as results themselves.
 */
export function watchCall(run: () => unknown, onOutcome: OutcomeListener): unknown {
  let returned: unknown;
  try {
    returned = run();
  } catch (error) {
    onOutcome({ failed: true, result: undefined, error });
    throw error;
  }
  if (isObservable(returned)) return watchObservable(returned, onOutcome);
  if (isPromise(returned)) watchPromise(returned, onOutcome);
  else onOutcome({ failed: false, result: returned, error: undefined });
  return returned;
}

/** A promise of any realm, or of a subclass that leaves `then` as it is. */
function isPromise(value: unknown): value is Promise<unknown> {
  if (!types.isPromise(value)) return false;
  let owner: unknown = value;
  while (isObject(owner) && !Object.hasOwn(owner, 'then')) owner = Object.getPrototypeOf(owner);
  // Above the prototype of all promises there is that of all objects, and nothing above that.
  const above: unknown = isObject(owner) ? Object.getPrototypeOf(owner) : undefined;
  return isObject(above) && Object.getPrototypeOf(above) === null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The promise itself goes to the caller, so it gets no extra tick; this is a branch beside it. */
function watchPromise(promise: Promise<unknown>, onOutcome: OutcomeListener): void {
  promise.then(
    (result) => {
      onOutcome({ failed: false, result, error: undefined });
    },
    (error: unknown) => {
      onOutcome({ failed: true, result: undefined, error });
    },
  );
}

/** Each subscription is a run of its own. One that is ended early came to nothing. */
function watchObservable(observable: Observable<unknown>, onOutcome: OutcomeListener): Observable<unknown> {
  return defer(() => {
    let result: unknown;
    return observable.pipe(
      tap({
        next: (value) => {
          result = value;
        },
        error: (error: unknown) => {
          onOutcome({ failed: true, result: undefined, error });
        },
        complete: () => {
          onOutcome({ failed: false, result, error: undefined });
        },
      }),
    );
  });
}
