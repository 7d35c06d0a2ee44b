import type { Fields } from './fields.types.js';

/**
 * The application's events and their properties, by declaration merging. Once an event is declared, `track()`
 * and `@Track` complete event names, check their properties and reject others. While none is declared, any
 * name with any properties is accepted.
 *
 * @example
 * declare module 'nestjs-analytics' {
 *   interface AnalyticsEvents {
 *     'Order Completed': { orderId: string; total: number };
 *   }
 * }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- an interface, as applications extend it
export interface AnalyticsEvents {}

/** Name of an event: one of the declared ones, if there are any. */
export type EventName = [keyof AnalyticsEvents] extends [never]
  ? string
  : Extract<keyof AnalyticsEvents, string>;

/** The declared properties of an event, or any object if none are declared. */
export type EventProperties<E extends EventName> = E extends keyof AnalyticsEvents
  ? AnalyticsEvents[E]
  : Fields;

/** Whether an event may be tracked without properties. */
export type TakesNoProperties<E extends EventName> = NoProperties extends EventProperties<E> ? true : false;

type NoProperties = { [K in never]: K };

/** Names of the events that need no properties. */
export type PlainEventName = {
  [E in EventName]: TakesNoProperties<E> extends true ? E : never;
}[EventName];

/**
 * The name of an event that can be tracked without properties. For an unknown name the compiler then lists the events,
 * and for one that needs properties it says that they are missing.
 */
export type EventAlone<E extends string> = E extends EventName
  ? TakesNoProperties<E> extends true
    ? E
    : E & { options: { properties: EventProperties<E> } }
  : { [Name in EventName]: Name }[EventName];

/** The fields of `track` that depend on the event. */
export type EventParams = {
  [E in EventName]: TakesNoProperties<E> extends true
    ? { event: E; properties?: EventProperties<E> | undefined }
    : { event: E; properties: EventProperties<E> };
}[EventName];
