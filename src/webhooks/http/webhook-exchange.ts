import type { Dispatcher } from 'undici';
import { ReceiverTimeoutError } from '../../errors/receiver-timeout.error.js';
import type { InFlight, InFlightList } from './in-flight-list.js';
import type { ConnectionTaker, OriginConnections } from './origin-connections.js';
import type { Expiring } from '../../time/deadline.js';
import { headersAt } from './request-headers.js';
import { EXCERPT_BYTES } from './response-excerpt.js';
import { responseHeader } from './response-header.js';
import type { WebhookConnection } from './webhook-connection.js';
import type { SettleRequest, WebhookRequest, WebhookResponse } from './webhook-request.types.js';

/** A response body up to this is read to its end, so that the socket can be used again; in bytes. */
const MAX_DRAINED_BYTES = 16 * 1024;

/** How long a response may take to end once its head is there, in milliseconds. */
const BODY_GRACE = 250;

const NOTHING = Buffer.alloc(0);

/**
 * One request and its response on a connection. The status is what counts: from the head on, neither
 * an error nor the deadline changes the result, they only end the body.
 *
 * The methods `on…` are those that undici 7 itself calls. Its newer ones are called through these, by a handler
 * that makes a text of every header and an object of them all: a tenth of what a request costs.
 */
export class WebhookExchange implements Dispatcher.DispatchHandler, ConnectionTaker, Expiring, InFlight {
  position = 0;
  #connection: WebhookConnection | undefined;
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
    /** Holds it until it is settled. */
    private readonly inFlight: InFlightList<WebhookExchange>,
    private readonly settle: SettleRequest,
  ) {
    inFlight.add(this);
  }

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

  onConnect(): void {
    this.#isAnswering = false;
  }

  /** The first byte of a response. */
  onResponseStarted(): void {
    this.#isAnswering = true;
    this.request.onFirstByte?.();
  }

  onHeaders(status: number, headers: readonly Buffer[]): boolean {
    // 103 and its like only announce the response.
    if (status < 200 || this.#isSettled) return true;
    this.#status = status;
    if (status >= 300) this.#retryAfter = responseHeader('retry-after', headers);
    this.#connection?.deadline.set(this, Math.min(this.#deadline, performance.now() + BODY_GRACE));
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isSettled) return true;
    // A copy in either case, for the chunk is a view of all that was read at once.
    const room = EXCERPT_BYTES - this.#received;
    if (this.#received === 0) this.#kept = Buffer.from(chunk.subarray(0, room));
    else if (room > 0) this.#kept = Buffer.concat([this.#kept, chunk.subarray(0, room)]);
    this.#received += chunk.length;
    if (this.#received > MAX_DRAINED_BYTES) this.#end(this.#response());
    return true;
  }

  onComplete(): void {
    const connection = this.#connection;
    if (connection === undefined || !this.#leave()) return;
    connection.markAnswered();
    this.connections.release(connection);
    this.settle(this.#response());
  }

  onError(error: Error): void {
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
    connection.deadline.set(this, this.#deadline);
    const { target, body } = this.request;
    const headers = headersAt(this.request.headers, this.#at);
    connection.send({ path: target.path, method: 'POST', headers, body }, this);
  }

  get #deadline(): number {
    return this.#start + this.request.timeout;
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
    if (!this.#leave()) return;
    if (this.#connection !== undefined) this.connections.discard(this.#connection);
    this.settle(response);
  }

  /** It is over: from now on nothing that comes in belongs to it. Tells whether that is news. */
  #leave(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#connection?.deadline.clear();
    this.inFlight.delete(this);
    return true;
  }
}
