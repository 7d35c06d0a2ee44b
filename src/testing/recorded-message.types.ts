import type { AnalyticsEvents, EventName } from '../messages/analytics-events.types.js';
import type {
  AliasMessage,
  DeleteMessage,
  GroupMessage,
  IdentifyMessage,
  JsonObject,
  PageMessage,
  ScreenMessage,
  TrackMessage,
} from '../messages/message.types.js';

/** A value as receivers get it: a date is a text, a set is an array, a map is an object. */
export type AsSent<T> = T extends { toJSON(...parts: never[]): infer Json }
  ? ContentsOf<Json>
  : ContentsOf<T>;

/** `JSON.stringify` does not call `toJSON` again on its result, but on the values in it. */
type ContentsOf<T> =
  T extends ReadonlySet<infer Item>
    ? AsSent<Item>[]
    : T extends ReadonlyMap<string, infer Value>
      ? Record<string, AsSent<Value>>
      : T extends object
        ? { [K in keyof T]: AsSent<T[K]> }
        : T;

/** The properties of a declared event; any properties for other events. */
type RecordedProperties<E extends EventName> = E extends keyof AnalyticsEvents
  ? AsSent<AnalyticsEvents[E]>
  : JsonObject;

interface WithSource {
  /** Name of the source that the message came from. */
  source: string;
}

/** A `track` call, with the properties that were declared for its event. */
export type RecordedEvent<E extends EventName = EventName> = E extends EventName
  ? Omit<TrackMessage, 'event' | 'properties'> & WithSource & { event: E; properties: RecordedProperties<E> }
  : never;

/** An `identify` call. */
export type RecordedIdentify = IdentifyMessage & WithSource;

/**
 * A message as a real application would queue it: after every check, with its context and its id. Its values
 * are those that receivers get.
 */
export type RecordedMessage =
  | RecordedEvent
  | RecordedIdentify
  | (PageMessage & WithSource)
  | (ScreenMessage & WithSource)
  | (GroupMessage & WithSource)
  | (AliasMessage & WithSource)
  | (DeleteMessage & WithSource);
