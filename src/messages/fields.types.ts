/**
 * What has fields to be sent. Built-in objects have none, and a function is called for the value: each has one of these
 * members. Any other object fits, be it of an interface or a class.
 */
interface WithFields {
  /** Arrays, maps, sets and buffers have it. */
  readonly [Symbol.iterator]?: never;
  /** Functions and classes. */
  readonly [Symbol.hasInstance]?: never;
  /** Regular expressions. */
  readonly [Symbol.match]?: never;
  /** Promises, and what else is awaited. */
  readonly then?: never;
  /** Dates. */
  readonly getTime?: never;
}

/** Any object with fields: of an interface, a class or as a literal, which may have any. */
export type Fields = (object & WithFields) | Record<string, unknown>;
