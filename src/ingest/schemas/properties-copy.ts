import { types } from 'node:util';
import { unserializable } from '../../messages/serialize.js';
import { isJsonObject } from '../../messages/value-kind.js';

/**
 * A copy of properties for a schema, so that a schema that changes its input changes neither the message nor
 * the caller's objects. Instances keep their classes. Objects that JSON does not write by their keys (with a
 * `toJSON`, a Map, a Buffer, …) may be impossible to copy, so the copy shares them.
 */
export class PropertiesCopy {
  readonly properties: unknown;
  /** Whether the copy shares an object with the original. */
  sharesObjects = false;
  private readonly copies = new Map<object, unknown>();

  /** @throws {InvalidMessageError} for properties that are nested too deeply, or have a getter that throws */
  constructor(original: unknown) {
    try {
      this.properties = this.of(original);
    } catch (cause) {
      throw unserializable('properties', cause);
    }
  }

  private of(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.copies.get(value);
    if (known !== undefined) return known;
    if (types.isDate(value)) return new Date(value);
    const copy = shallowCopyOf(value);
    if (copy === undefined) {
      this.sharesObjects = true;
      return value;
    }
    this.copies.set(value, copy);
    for (const key of Object.keys(copy)) Reflect.set(copy, key, this.of(Reflect.get(copy, key)));
    return copy;
  }
}

function shallowCopyOf(value: object): object | undefined {
  if (Array.isArray(value)) return [...(value as unknown[])];
  if (!isJsonObject(value) || typeof value.toJSON === 'function') return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype) return { ...value };
  const descriptors = Object.getOwnPropertyDescriptors({ ...value });
  return Object.create(isObject(prototype) ? prototype : null, descriptors) as object;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
