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
  { at = Date.now(), source, type, message, name }: LiveCall,
  tenant: string | undefined,
  reason: string | undefined,
): LiveEvent {
  const fields: Partial<Record<string, unknown>> = { ...message };
  const json = message === undefined ? undefined : stringify(fields);
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

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT).toWellFormed() : undefined;
}
