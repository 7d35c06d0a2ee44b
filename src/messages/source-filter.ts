import type { AnalyticsMessage } from './message.types.js';

/** What happens to a `track` call of one name: it is kept from every destination, or from the listed ones. */
export type EventFilter = false | readonly string[];

/** The rules of a source, by the name of the event (case-sensitive). An event without a rule passes. */
export type SourceFilter = ReadonlyMap<string, EventFilter>;

/** The rule of a source for a message, if any. */
export function eventFilterOf(
  message: AnalyticsMessage,
  schema: SourceFilter | undefined,
): EventFilter | undefined {
  return message.type === 'track' ? schema?.get(message.event) : undefined;
}

/**
 * The message with the excluded destinations switched off, for the program that selects destinations later.
 */
export function withFilter(message: AnalyticsMessage, filter: EventFilter | undefined): AnalyticsMessage {
  if (filter === undefined || filter === false) return message;
  const blocked = Object.fromEntries(filter.map((destination) => [destination, false]));
  return { ...message, integrations: { ...message.integrations, ...blocked } };
}
