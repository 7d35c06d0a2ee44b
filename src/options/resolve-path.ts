import { describe, type OptionReader } from './option-reader.js';

/** Path segments of characters that need no escaping, so that paths can be compared as they arrive. */
const PATH = /^(\/[\w.~-]+)*\/?$/;

/**
 * Reads the option `path` of an HTTP API, without a slash at its end.
 *
 * @param fallback the path if none is given; if it is not empty, the API cannot be at the root
 * @param expected an example and its meaning, for the error
 */
export function resolvePath(options: OptionReader, fallback: string, expected: string): string {
  const path = options.get('path');
  if (path === undefined) return fallback;
  const resolved = typeof path === 'string' && PATH.test(path) ? path.replace(/\/$/, '') : undefined;
  if (resolved !== undefined && (resolved !== '' || fallback === '')) return resolved;
  options.report('path', expected, describe(path));
  return fallback;
}

/** Whether a path equals the other path or lies below it. */
export function isWithin(path: string, other: string): boolean {
  return `${path}/`.startsWith(`${other}/`);
}
