import { propertyOf } from './request-source.js';

/** What a thenable's `then` is called with. */
export interface Reactions {
  fulfilled: (value: unknown) => void;
  rejected: (error: unknown) => void;
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Calls that wait for the end of one thenable. Where more of them returned it, nobody seems to await it. */
const MAX_WAITING = 1_000;

/** Who waits for the end of each thenable. Several calls return the same one if it is shared. */
const waiting = new WeakMap<object, Reactions[]>();

/**
 * Calls the reactions once, when somebody awaits the thenable and it settles. It is neither replaced nor started,
 * since many begin their work when `then` is called, such as the queries of database libraries: its `then` is replaced
 * with a hidden one, and so are `catch` and `finally`, which need not call it.
 *
 * @returns whether it can be watched
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

/** Replaces a method that the object has, and returns whether the object has the new one now. */
function replace(object: object, name: string, value: Method): boolean {
  if (methodOf(object, name) === undefined) return false;
  // Objects may be frozen, and proxies may keep to their own.
  Reflect.defineProperty(object, name, { value, configurable: true, writable: true });
  return methodOf(object, name) === value;
}

/** A getter of the application's object may throw. */
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
