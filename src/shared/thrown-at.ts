import { types } from 'node:util';

/**
 * Returns the kind of error that the application's code threw, and where. The error's text is left out, since it may
 * hold data that is being sent.
 */
export function thrownAt(error: unknown): string {
  try {
    return isError(error) ? placeOf(error) : `a value of type ${typeof error}`;
  } catch {
    // Its properties may throw when they are read.
    return 'an error that cannot be read';
  }
}

/** Whether a value is an error. RxJS makes errors such as `TimeoutError` itself, which are not native ones. */
function isError(error: unknown): error is Error {
  if (types.isNativeError(error)) return true;
  if (typeof error !== 'object' || error === null) return false;
  return ['name', 'message', 'stack'].every((key) => typeof Reflect.get(error, key) === 'string');
}

function placeOf(error: Error): string {
  // The stack begins with the text, whose lines may look like those of a stack.
  const stack = String(error.stack).replace(error.message, '');
  const frame = /\n\s+(at .*)/.exec(stack)?.[1];
  return frame === undefined ? error.name : `${error.name} ${frame}`;
}
