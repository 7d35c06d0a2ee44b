/** The types of calls, as in a body's `type`. */
export type MessageType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias' | 'delete';

/**
 * Which destinations get a message: maps a destination's name (case-sensitive) to a boolean. All are enabled
 * by default. `All: false` disables those that their own key does not enable. An options object counts as
 * `true`.
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

export interface IdentifyMessage extends UserMessage {
  type: 'identify';
  traits: JsonObject;
}

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

export interface PageMessage extends ViewMessage {
  type: 'page';
}

export interface ScreenMessage extends ViewMessage {
  type: 'screen';
}

export interface GroupMessage extends UserMessage {
  type: 'group';
  groupId: string;
  traits: JsonObject;
}

export interface AliasMessage extends StampedMessage {
  type: 'alias';
  userId: string;
  previousId: string;
}

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
