/**
 * The events of the application and their properties, by declaration merging. Once one is declared,
 * `track()` and `@Track` complete their names, check their properties and refuse others; while none is,
 * any name with any properties is taken.
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

/** Name of an event: of a declared one, where there are any. */
export type EventName = [keyof AnalyticsEvents] extends [never]
  ? string
  : Extract<keyof AnalyticsEvents, string>;

/** The properties that were declared for an event; any object, where none were. */
export type EventProperties<E extends EventName> = E extends keyof AnalyticsEvents
  ? AnalyticsEvents[E]
  : object;

/** Whether a call without properties is right for an event. */
export type TakesNoProperties<E extends EventName> =
  Partial<EventProperties<E>> extends EventProperties<E> ? true : false;

/** Names of the events that need no properties. */
export type PlainEventName = {
  [E in EventName]: TakesNoProperties<E> extends true ? E : never;
}[EventName];

/** The fields of `track` that an event decides. */
export type EventParams = {
  [E in EventName]: TakesNoProperties<E> extends true
    ? { event: E; properties?: EventProperties<E> | undefined }
    : { event: E; properties: EventProperties<E> };
}[EventName];
