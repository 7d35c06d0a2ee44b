import type { AnalyticsMessage } from '../messages/message.types.js';
import { stringify } from '../messages/serialize.js';

/** What became of a call: it is on its way, nobody wants it, or it was not accepted. */
export type LiveOutcome = 'taken' | 'dropped' | 'refused';

/** A call, as somebody who watches sees it. */
export interface LiveEvent {
  /** When it was made, in milliseconds since the epoch. */
  at: number;
  outcome: LiveOutcome;
  /** Why it was not taken. */
  reason?: string | undefined;
  source?: string | undefined;
  /** Whose event it is; absent for nobody's. */
  tenant?: string | undefined;
  type?: string | undefined;
  /** Name of the event, the page or the screen. */
  name?: string | undefined;
  userId?: string | undefined;
  anonymousId?: string | undefined;
  messageId?: string | undefined;
  /** JSON text of the message; absent where there is none. */
  json?: string | undefined;
  /** `json` is only the beginning of it. */
  isCut?: true;
}

/** What is known of a call. */
export interface LiveCall {
  /** When it was made, in milliseconds since the epoch. @default now */
  at?: number | undefined;
  source?: string | undefined;
  /** Whose event it is, where the call or the source has said so. */
  tenant?: string | undefined;
  type?: string | undefined;
  /** After `beforeSend`, which may have removed what nobody should see. */
  message?: AnalyticsMessage | undefined;
  /** JSON text of the message, where its caller may have changed it since. @default made of the message */
  json?: string | undefined;
  /** The name of the event where there is no message. */
  name?: string | undefined;
}

/** Longest JSON text that is shown, in characters. */
const MAX_JSON = 8_000;
/** Longest name, id or reason that is shown, in characters. */
const MAX_TEXT = 500;

/** @param tenant whose event it is */
export function liveEvent(
  outcome: LiveOutcome,
  { at = Date.now(), source, type, message, json: given, name }: LiveCall,
  tenant: string | undefined,
  reason: string | undefined,
): LiveEvent {
  const fields: Partial<Record<string, unknown>> = { ...message };
  const json = given ?? (message === undefined ? undefined : jsonOf(message));
  const isCut = json !== undefined && json.length > MAX_JSON;
  return {
    at,
    outcome,
    reason: text(reason),
    source,
    tenant,
    type: text(message?.type ?? type),
    name: text(fields.event ?? fields.name ?? name),
    userId: text(fields.userId),
    anonymousId: text(fields.anonymousId ?? fields.previousId),
    messageId: text(fields.messageId),
    json: isCut ? json.slice(0, MAX_JSON).toWellFormed() : json,
    ...(isCut && { isCut }),
  };
}

/** A call that is shown as it is now, although its caller may change the objects in its message until then. */
export function withJson<T extends LiveCall>(call: T): T & Pick<LiveCall, 'json'> {
  return call.message === undefined ? call : { ...call, json: jsonOf(call.message) };
}

/** `undefined` for what JSON cannot hold: no call fails because somebody watches. */
function jsonOf(message: AnalyticsMessage): string | undefined {
  try {
    return stringify({ ...message });
  } catch {
    return undefined;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT).toWellFormed() : undefined;
}
