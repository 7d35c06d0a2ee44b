import type { AnalyticsMessage } from '../messages/message.types.js';
import { stringify } from '../messages/serialize.js';
import { beginningOf } from '../shared/beginning-of.js';

/** What became of a call: it is on its way, nobody wants it, or it was not accepted. */
export type LiveOutcome = 'taken' | 'dropped' | 'refused';

/** A call as it is shown to somebody who watches. */
export interface LiveEvent {
  /** Time of the call, in milliseconds since the epoch. */
  at: number;
  outcome: LiveOutcome;
  /** Why the call was not taken. */
  reason?: string | undefined;
  source?: string | undefined;
  /** Tenant of the event; absent if there is none. */
  tenant?: string | undefined;
  type?: string | undefined;
  /** Name of the event, the page or the screen. */
  name?: string | undefined;
  userId?: string | undefined;
  anonymousId?: string | undefined;
  messageId?: string | undefined;
  /** JSON text of the message; absent if there is none. */
  json?: string | undefined;
  /** Whether `json` is only the beginning of the text. */
  isCut?: true;
}

/** What is shown of a message. */
export type ShownMessage = Pick<
  LiveEvent,
  'type' | 'name' | 'userId' | 'anonymousId' | 'messageId' | 'json' | 'isCut'
>;

/** What is known of a call. */
export interface LiveCall {
  /** Time of the call, in milliseconds since the epoch. @default now */
  at?: number | undefined;
  source?: string | undefined;
  /** Tenant of the event, if the call or the source names one. */
  tenant?: string | undefined;
  type?: string | undefined;
  /** The message after `beforeSend`, which may have removed contents that nobody should see. */
  message?: AnalyticsMessage | undefined;
  /** What is shown of the message, if the message itself is not kept. @default made of the message */
  shown?: ShownMessage | undefined;
  /** Name of the event if there is no message. */
  name?: string | undefined;
}

/** Longest JSON text that is shown, in characters. */
const MAX_JSON = 8_000;
/** Longest name, id or reason that is shown, in characters. */
const MAX_TEXT = 500;

/** @param tenant tenant of the event */
export function liveEvent(
  outcome: LiveOutcome,
  { at = Date.now(), source, type, name, message, shown = message && shownOf(message) }: LiveCall,
  tenant: string | undefined,
  reason: string | undefined,
): LiveEvent {
  return { at, outcome, reason: text(reason), source, tenant, type: text(type), name: text(name), ...shown };
}

/**
 * Returns a call with what is shown of its message in place of the message. The message takes far more memory, and the
 * caller may change its objects.
 *
 * @param owner tenant of the event; `''` if there is none
 */
export function withoutMessage<T extends LiveCall>(call: T, owner: string): T {
  const { message, tenant = owner === '' ? undefined : owner } = call;
  return message === undefined ? call : { ...call, tenant, message: undefined, shown: shownOf(message) };
}

function shownOf(message: AnalyticsMessage): ShownMessage {
  const fields: Partial<Record<string, unknown>> = { ...message };
  const json = jsonOf(message);
  const isCut = json !== undefined && json.length > MAX_JSON;
  return {
    type: text(message.type),
    name: text(fields.event ?? fields.name),
    userId: text(fields.userId),
    anonymousId: text(fields.anonymousId ?? fields.previousId),
    messageId: text(fields.messageId),
    json: isCut ? beginningOf(json, MAX_JSON) : json,
    ...(isCut && { isCut }),
  };
}

/** Returns JSON text, or `undefined` for what JSON cannot hold: no call fails because somebody watches. */
function jsonOf(message: AnalyticsMessage): string | undefined {
  try {
    return stringify({ ...message });
  } catch {
    return undefined;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? beginningOf(value, MAX_TEXT) : undefined;
}
