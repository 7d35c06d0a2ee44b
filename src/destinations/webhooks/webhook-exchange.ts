import type { Dispatcher } from 'undici';
import { ReceiverTimeoutError } from '../../errors/receiver-timeout.error.js';
import type { ConnectionTaker, OriginConnections } from './origin-connections.js';
import { headersAt, type RequestHeaders } from './request-headers.js';
import { EXCERPT_BYTES } from './response-excerpt.js';
import type { WebhookConnection } from './webhook-connection.js';

/** A response body up to this is read to its end, so that the socket can be used again; in bytes. */
const MAX_DRAINED_BYTES = 16 * 1024;

/** How long a response may take to end once its head is there, in milliseconds. */
const BODY_GRACE = 250;

const NOTHING = Buffer.alloc(0);

export interface WebhookRequest {
  url: URL;
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

type Settle = (response: WebhookResponse | undefined) => void;

/**
 * One request and its response on a connection. The status is what counts: from the head on, neither
 * an error nor the deadline changes the result, they only end the body.
 */
export class WebhookExchange implements Dispatcher.DispatchHandler, ConnectionTaker {
  #connection: WebhookConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #at = 0;
  #start = 0;
  #isSettled = false;
  #isSecondTry = false;
  #isAnswering = false;
  #status: number | undefined;
  #retryAfter: string | undefined;
  #kept: Buffer = NOTHING;
  #received = 0;

  constructor(
    private readonly request: WebhookRequest,
    private readonly connections: OriginConnections,
    /** Called once: with `undefined` when it was aborted. */
    private readonly settle: Settle,
  ) {}

  get signal(): AbortSignal {
    return this.request.signal;
  }

  begin(connection: WebhookConnection): void {
    if (this.#isSettled) {
      // Aborted while the connection was on its way here: it may have no socket yet, so nothing would ever
      // take it out of the idle ones again.
      this.connections.discard(connection);
      return;
    }
    this.#at = Date.now();
    this.#start = performance.now();
    this.#timer = setTimeout(onDeadline, this.request.timeout, this);
    this.#send(connection);
  }

  /** Ends the exchange without a response. */
  abort(): void {
    this.connections.withdraw(this);
    this.#end(undefined);
  }

  /** Ends the exchange because its time is over. */
  expire(): void {
    this.#end(this.#response() ?? this.#failure(new ReceiverTimeoutError(this.request.timeout)));
  }

  /** Its presence selects the current handler interface. */
  onRequestStart(): void {
    this.#isAnswering = false;
  }

  /** The first byte of a response. */
  onResponseStarted(): void {
    this.#isAnswering = true;
    this.request.onFirstByte?.();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // 103 and its like only announce the response.
    if (status < 200 || this.#isSettled) return;
    this.#status = status;
    const retryAfter = headers['retry-after'];
    this.#retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
    const left = this.request.timeout - (performance.now() - this.#start);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onDeadline, Math.min(left, BODY_GRACE), this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    // A copy in either case, for the chunk is a view of all that was read at once.
    const room = EXCERPT_BYTES - this.#received;
    if (this.#received === 0) this.#kept = Buffer.from(chunk.subarray(0, room));
    else if (room > 0) this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)]);
    this.#received += chunk.length;
    if (this.#received > MAX_DRAINED_BYTES) this.#end(this.#response());
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    const connection = this.#finish(this.#response());
    if (connection === undefined) return;
    connection.markAnswered();
    this.connections.release(connection);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isSettled) return;
    const connection = this.#connection;
    const isStale = connection?.hasAnswered === true && !this.#isAnswering;
    if (isStale && !this.#isSecondTry) {
      this.#isSecondTry = true;
      this.#send(this.connections.replace(connection));
      return;
    }
    this.#end(this.#response() ?? this.#failure(error));
  }

  #send(connection: WebhookConnection): void {
    this.#connection = connection;
    const { url, body } = this.request;
    const headers = headersAt(this.request.headers, this.#at);
    connection.send({ path: url.pathname + url.search, method: 'POST', headers, body }, this);
  }

  #response(): WebhookResponse | undefined {
    const status = this.#status;
    if (status === undefined) return undefined;
    const duration = this.#elapsed();
    return { at: this.#at, duration, status, retryAfter: this.#retryAfter, body: this.#kept };
  }

  #failure(error: Error): WebhookResponse {
    return { at: this.#at, duration: this.#elapsed(), error };
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#start);
  }

  /** Settles, and ends the connection: what is still on its way there belongs to nobody. */
  #end(response: WebhookResponse | undefined): void {
    const connection = this.#finish(response);
    if (connection !== undefined) this.connections.discard(connection);
  }

  /** Settles, once. Returns the connection that has to be given back. */
  #finish(response: WebhookResponse | undefined): WebhookConnection | undefined {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.settle(response);
    return this.#connection;
  }
}

function onDeadline(exchange: WebhookExchange): void {
  exchange.expire();
}
