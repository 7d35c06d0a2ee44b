/** The types of calls, as in a body's `type`. */
export type MessageType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias' | 'delete';

/**
 * Which destinations get a message: maps a destination's name or `id` (case-sensitive) to a boolean. All are
 * enabled by default. `All: false` disables each destination that no key of its own enables. An id wins over a name,
 * and both win over `All`. An options object counts as `true`.
 */
export interface Integrations {
  All?: boolean | undefined;
  [destination: string]: boolean | object | undefined;
}

/** Any JSON object. Class instances such as DTOs are accepted; arrays, dates and maps are not. */
export type JsonObject = Record<string, unknown>;

/** The fields of every message that was checked. */
interface StampedMessage {
  messageId: string;
  /** ISO 8601, UTC, milliseconds: `2026-11-21T09:30:00.123Z`. */
  timestamp: string;
  context: JsonObject;
  integrations: Integrations;
}

interface UserMessage extends StampedMessage {
  userId?: string | undefined;
  anonymousId?: string | undefined;
}

/** An `identify` call after its checks. */
export interface IdentifyMessage extends UserMessage {
  type: 'identify';
  traits: JsonObject;
}

/** A `track` call after its checks. */
export interface TrackMessage extends UserMessage {
  type: 'track';
  event: string;
  properties: JsonObject;
}

interface ViewMessage extends UserMessage {
  name?: string | undefined;
  category?: string | undefined;
  properties: JsonObject;
}

/** A `page` call after its checks. */
export interface PageMessage extends ViewMessage {
  type: 'page';
}

/** A `screen` call after its checks. */
export interface ScreenMessage extends ViewMessage {
  type: 'screen';
}

/** A `group` call after its checks. */
export interface GroupMessage extends UserMessage {
  type: 'group';
  groupId: string;
  traits: JsonObject;
}

/** An `alias` call after its checks. */
export interface AliasMessage extends StampedMessage {
  type: 'alias';
  userId: string;
  previousId: string;
}

/** A `delete` call after its checks. */
export interface DeleteMessage extends StampedMessage {
  type: 'delete';
  userId: string;
}

/**
 * A call after its checks: complete, with id and timestamp, not yet serialised. This is what `beforeSend`
 * sees.
 */
export type AnalyticsMessage =
  IdentifyMessage | TrackMessage | PageMessage | ScreenMessage | GroupMessage | AliasMessage | DeleteMessage;
