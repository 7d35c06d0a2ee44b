import { types } from 'node:util';

/**
 * The kind of what the application's code threw, and where: not its text, which may hold what is being
 * sent.
 */
export function thrownAt(error: unknown): string {
  if (!types.isNativeError(error)) return `a value of type ${typeof error}`;
  const frame = /\n\s+(at .*)/.exec(error.stack ?? '')?.[1];
  return frame === undefined ? error.name : `${error.name} ${frame}`;
}
