import type { RequestHeaders } from './request-headers.js';
import type { RequestTarget } from './request-target.js';

export interface WebhookRequest {
  target: RequestTarget;
  headers: RequestHeaders;
  body: Buffer;
  /** Milliseconds for DNS, connect, TLS, request and response together, from when a connection slot is free. */
  timeout: number;
  /** Ends the request without a response. */
  signal: AbortSignal;
  /** Called at the first byte of a response. */
  onFirstByte?: () => void;
}

/** What a request came to: a response, or the error that there was instead. */
export type WebhookResponse = {
  /** When it began, in milliseconds since the epoch: after the wait for a connection slot. */
  at: number;
  /** Milliseconds from then on. */
  duration: number;
} & (
  | { status: number; retryAfter: string | undefined; body: Buffer; error?: undefined }
  | { error: Error; status?: undefined }
);

/** Called once; with `undefined` when it was ended without a response. */
export type SettleRequest = (response: WebhookResponse | undefined) => void;
