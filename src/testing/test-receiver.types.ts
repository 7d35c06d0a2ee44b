import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../messages/message.types.js';

/**
 * The answer to a request: a status; nothing, while the connection stays open (`'hang'`); a broken connection
 * (`'reset'`); or a response, with an optional delay.
 */
export type TestAnswer =
  | number
  | 'hang'
  | 'reset'
  | {
      /** @default 200 */
      status?: number;
      headers?: Record<string, string>;
      body?: string;
      /** Milliseconds until the answer. @default 0 */
      delay?: number;
    };

/** A request as it arrived. */
export interface ReceivedWebhook {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** The bytes of the body. */
  rawBody: Buffer;
  /** The body as JSON; empty if it is no JSON object. */
  message: JsonObject;
  /** Whether every signature that the receiver has a secret for is valid; `undefined` without secrets. */
  verified: boolean | undefined;
}
