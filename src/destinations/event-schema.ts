import type { AnalyticsMessage } from '../messages/message.types.js';

/** What becomes of a `track` call of one name: kept from every destination, or from those named. */
export type EventRule = false | readonly string[];

/** The rules of a source, by the name of the event, compared with case; an event without one passes. */
export type EventSchema = ReadonlyMap<string, EventRule>;

/**
 * Applies a source's schema to a message: returns it with the destinations that its rule keeps it from
 * switched off, or `undefined` when that is all of them.
 */
export function passSchema(
  message: AnalyticsMessage,
  schema: EventSchema | undefined,
): AnalyticsMessage | undefined {
  const rule = message.type === 'track' ? schema?.get(message.event) : undefined;
  if (rule === undefined) return message;
  if (rule === false) return undefined;
  const blocked = Object.fromEntries(rule.map((destination) => [destination, false]));
  return { ...message, integrations: { ...message.integrations, ...blocked } };
}
