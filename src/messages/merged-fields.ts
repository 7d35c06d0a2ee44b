import type { JsonObject } from './message.types.js';

/**
 * Returns the fields of both objects. If both have a field, the second object wins. Every call merges contexts, and on
 * Node 20 a literal with two spreads takes ten times as long.
 */
export function mergedFields(base: JsonObject, over: JsonObject): JsonObject {
  // `Object.assign` would make a field of this name, which JSON may have, the prototype.
  if (Object.hasOwn(base, '__proto__') || Object.hasOwn(over, '__proto__')) return { ...base, ...over };
  return Object.assign({}, base, over);
}
