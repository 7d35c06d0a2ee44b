import { propertyOf } from './request-source.js';

/** Callbacks for a thenable that settles. */
export interface Reactions {
  fulfilled: (value: unknown) => void;
  rejected: (error: unknown) => void;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Largest number of calls that wait for one thenable to settle. If more calls return it, nobody seems to await it. */
const MAX_WAITING = 1_000;

/** Reactions that wait for each thenable. Several calls return the same thenable if it is shared. */
const waiting = new WeakMap<object, Reactions[]>();

/**
 * Calls the reactions once, when somebody awaits the thenable and it settles. The thenable is neither replaced nor
 * started, since many thenables, such as the queries of database libraries, begin their work when `then` is called.
 * Instead, its `then` is replaced with a hidden method. So are `catch` and `finally`, which need not call `then`.
 *
 * @returns whether the thenable can be watched
 */
export function watchThenable(thenable: object, reactions: Reactions): boolean {
  const known = waiting.get(thenable);
  if (known !== undefined) {
    if (known.length >= MAX_WAITING) return false;
    known.push(reactions);
    return true;
  }
  const then = methodOf(thenable, 'then');
  if (then === undefined) return false;
  const settle = (kind: keyof Reactions, value: unknown): void => {
    for (const waiter of waiting.get(thenable)?.splice(0) ?? []) waiter[kind](value);
  };
  const watched: Method = (onFulfilled, onRejected) =>
    then.call(
      thenable,
      (value: unknown) => {
        settle('fulfilled', value);
        return isFunction(onFulfilled) ? onFulfilled(value) : value;
      },
      (error: unknown) => {
        settle('rejected', error);
        if (isFunction(onRejected)) return onRejected(error);
        throw error;
      },
    );
  if (!replace(thenable, 'then', watched)) return false;
  waiting.set(thenable, [reactions]);
  replace(thenable, 'catch', (onRejected) => watched(undefined, onRejected));
  replace(thenable, 'finally', (onFinally) =>
    Promise.resolve(thenable).finally(isFunction(onFinally) ? () => onFinally() : undefined),
  );
  return true;
}

/** Replaces a method of an object. Returns whether the object now has the new method. */
function replace(object: object, name: string, value: Method): boolean {
  if (methodOf(object, name) === undefined) return false;
  // The replacement may fail: objects may be frozen, and proxies may keep their own methods.
  Reflect.defineProperty(object, name, { value, configurable: true, writable: true });
  return methodOf(object, name) === value;
}

/** Returns a method of an object, or `undefined` if there is none or the application's getter throws. */
function methodOf(object: object, name: string): Method | undefined {
  try {
    const method = propertyOf(object, name);
    return isFunction(method) ? method : undefined;
  } catch {
    return undefined;
  }
}

function isFunction(value: unknown): value is Method {
  return typeof value === 'function';
}
