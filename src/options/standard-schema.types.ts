import type { AnalyticsEvents, EventName, EventProperties } from '../messages/analytics-events.types.js';

/** The result of a validation: a value, or what is wrong with the input. */
type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/**
 * A schema of any library that implements Standard Schema, version 1: zod, valibot, arktype and others.
 *
 * @see https://standardschema.dev
 */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
    /** Exists only for the compiler: the type that the schema accepts. */
    readonly types?: { readonly input: unknown } | undefined;
  };
}

/** The properties that a schema accepts; any object if its library does not say. */
export type AcceptedBy<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer Input extends object }
    ? Input
    : object
  : object;

declare const COMPARED: unique symbol;

/**
 * Lets the compiler compare schemas with `AnalyticsEvents`. The function types in `Takers` compare what a schema
 * accepts, not what it returns.
 */
// eslint-disable-next-line @typescript-eslint/consistent-type-definitions -- an interface is no record of schemas
type Comparison<Names, Takers> = {
  readonly [COMPARED]: { readonly names: Names; readonly takers: Takers };
};

/** The schemas given to `defineEvents`, by the names of their events. */
export type DefinedEvents<Schemas> = Schemas &
  Comparison<keyof Schemas, { readonly [E in keyof Schemas]: (properties: AcceptedBy<Schemas[E]>) => void }>;

/** The properties of each event given to `defineEvents`, to be declared as `AnalyticsEvents`. */
export type EventsOf<Defined> = {
  [E in Extract<keyof Defined, string>]: AcceptedBy<Defined[E]>;
};

/**
 * Schemas by event name. Once `AnalyticsEvents` declares any event, use `defineEvents`: a schema that rejects declared
 * properties, or belongs to an undeclared event, does not compile.
 */
export type EventSchemas = [keyof AnalyticsEvents] extends [never]
  ? Readonly<Record<string, StandardSchema>>
  : Partial<Readonly<Record<EventName, StandardSchema>>> &
      Comparison<EventName, { readonly [E in EventName]?: (properties: EventProperties<E>) => void }>;

/** What happens to an event that does not fit its schema. */
export type OnViolation = 'drop' | 'warn' | 'throw';
