import { types } from 'node:util';

/**
 * The kind of error that the application's code threw, and where. The error's text is left out, since it may
 * hold data that is being sent.
 */
export function thrownAt(error: unknown): string {
  if (!types.isNativeError(error)) return `a value of type ${typeof error}`;
  try {
    return placeOf(error);
  } catch {
    // Its properties may throw when they are read.
    return 'an error that cannot be read';
  }
}

function placeOf(error: Error): string {
  // The stack begins with the text, whose lines may look like those of a stack.
  const stack = String(error.stack).replace(error.message, '');
  const frame = /\n\s+(at .*)/.exec(stack)?.[1];
  return frame === undefined ? error.name : `${error.name} ${frame}`;
}
