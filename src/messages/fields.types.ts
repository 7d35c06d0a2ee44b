/**
 * An object with fields to send. Built-in objects have no such fields, and a function is called to get the value. Each
 * of them has one of these members, so it does not fit. Any other object fits, whether of an interface or a class.
 */
interface WithFields {
  /** Excludes arrays, maps, sets and buffers. */
  readonly [Symbol.iterator]?: never;
  /** Excludes functions and classes. */
  readonly [Symbol.hasInstance]?: never;
  /** Excludes regular expressions. */
  readonly [Symbol.match]?: never;
  /** Excludes promises and other thenables. */
  readonly then?: never;
  /** Excludes dates. */
  readonly getTime?: never;
}

/** Any object with fields: of an interface, of a class, or a literal with any fields. */
export type Fields = (object & WithFields) | Record<string, unknown>;
