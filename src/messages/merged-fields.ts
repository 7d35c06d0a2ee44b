import type { JsonObject } from './message.types.js';

/**
 * The fields of both objects; where both have one, that of the second. Every call merges contexts, and on Node 20
 * a literal with two spreads takes ten times as long.
 */
export function mergedFields(base: JsonObject, over: JsonObject): JsonObject {
  // A field of that name, which JSON may have, would become the prototype.
  if (Object.hasOwn(base, '__proto__') || Object.hasOwn(over, '__proto__')) return { ...base, ...over };
  return Object.assign({}, base, over);
}
