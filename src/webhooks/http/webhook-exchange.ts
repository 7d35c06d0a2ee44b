import type { Dispatcher } from 'undici';
import { ReceiverTimeoutError } from '../../errors/delivery.errors.js';
import type { InFlight, InFlightList } from './in-flight-list.js';
import type { ConnectionTaker, OriginConnections } from './origin-connections.js';
import { errors } from './undici.js';
import type { Expiring } from '../../shared/deadline.js';
import { EXCERPT_BYTES } from '../../shared/excerpt.js';
import type { WebhookConnection } from './webhook-connection.js';
import { headersAt, READ_BODY_BYTES, type WebhookRequest } from './webhook-request.js';
import { responseHeader, type SettleRequest, type WebhookResponse } from './webhook-response.js';

/** How long a response may take to end once everything that counts has arrived, in milliseconds. */
const BODY_GRACE = 250;

/** Milliseconds after a deadline from which the event loop counts as having stood still. */
const LATE = 100;

const NOTHING = Buffer.alloc(0);

/**
 * One request and its response on a connection. The status counts, and for some requests the beginning of the body as
 * well. After that, an error or the deadline only ends the body and does not change the result.
 *
 * The `on…` methods are those that undici 7 itself calls. It calls its newer methods through a handler on top of these.
 * That handler turns every header into a string and all headers into an object, which takes a tenth of what a request
 * costs.
 */
export class WebhookExchange implements Dispatcher.DispatchHandler, ConnectionTaker, Expiring, InFlight {
  position = 0;
  private connection: WebhookConnection | undefined;
  private at = 0;
  private start = 0;
  /** By `performance.now()`. */
  private deadline = 0;
  private isSettled = false;
  private isSecondTry = false;
  /** Path of an earlier request on the first connection, if late bytes of its answer may have spoiled this answer. */
  private suspect: string | undefined;
  /** Whether the connection is made, and the request on its way. */
  private isSent = false;
  private hasMoreTime = false;
  private isAnswering = false;
  private status: number | undefined;
  private retryAfter: string | undefined;
  private kept: Buffer = NOTHING;
  private received = 0;
  private hasEnded = false;
  /** Whether everything that counts has arrived. */
  private isEnding = false;
  /** Whether the rest of the response has a deadline of its own. */
  private hasGrace = false;

  constructor(
    private readonly request: WebhookRequest,
    private readonly connections: OriginConnections,
    /** Holds the exchange until it is settled. */
    private readonly inFlight: InFlightList<WebhookExchange>,
    private readonly settle: SettleRequest,
  ) {
    inFlight.add(this);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get path(): string {
    return this.request.target.path;
  }

  begin(connection: WebhookConnection): void {
    if (this.isSettled) {
      // The exchange was aborted while the connection was being handed over. The connection may have no socket yet, so
      // nothing would ever remove it from the idle connections.
      this.connections.discard(connection);
      return;
    }
    this.at = Date.now();
    this.start = performance.now();
    this.deadline = this.start + this.request.timeout;
    this.send(connection);
  }

  /** Ends the exchange: with the response if everything that counts has arrived, otherwise without a response. */
  abort(): void {
    this.connections.withdraw(this);
    this.end(this.isEnding ? this.response() : undefined);
  }

  /** Ends the exchange because its time is over. */
  expire(): void {
    if (this.awaitLookup()) return;
    if (!this.isSent && performance.now() - this.deadline > LATE && this.extend()) return;
    this.end(this.response() ?? this.failure(new ReceiverTimeoutError(this.request.timeout)));
  }

  onConnect(): void {
    this.isAnswering = false;
    this.isSent = true;
    if (performance.now() >= this.deadline) this.extend();
  }

  onFirstByte(): void {
    this.isAnswering = true;
    this.request.onFirstByte?.();
  }

  onHeaders(status: number, headers: readonly Buffer[]): boolean {
    // Only a 101 that switches nothing arrives here: the connection removes all other 1xx responses.
    if (status < 200 || this.isSettled) return true;
    this.status = status;
    // If the new connection had brought no answer either, the receiver would not answer this request with HTTP.
    if (this.suspect !== undefined) this.connections.useOnce(this.suspect);
    if (status >= 300) this.retryAfter = responseHeader('retry-after', headers);
    this.connection?.endHead();
    this.isEnding = this.request.readsBody !== true || status >= 300;
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.isSettled) return true;
    // The chunk is copied in either case, since it is a view of everything that was read at once.
    const limit = this.request.readsBody === true ? READ_BODY_BYTES : EXCERPT_BYTES;
    const room = limit - this.received;
    if (this.received === 0) this.kept = Buffer.from(chunk.subarray(0, room));
    else if (room > 0) this.kept = Buffer.concat([this.kept, chunk.subarray(0, room)]);
    this.received += chunk.length;
    if (this.received >= limit) this.isEnding = true;
    return true;
  }

  onPause(): void {
    // The timer starts only here: nearly every response has already ended, and a timer costs more than ending it.
    if (!this.isEnding || this.isSettled || this.hasGrace) return;
    this.hasGrace = true;
    this.connection?.deadline.set(this, Math.min(this.deadline, performance.now() + BODY_GRACE));
  }

  onComplete(): void {
    const connection = this.connection;
    if (connection === undefined || !this.leave()) return;
    this.hasEnded = true;
    connection.markAnswered();
    this.connections.release(connection);
    this.settle(this.response());
  }

  onError(error: Error): void {
    if (this.isSettled) return;
    const { connection } = this;
    const answeredPath = connection?.answeredPath;
    if (connection !== undefined && answeredPath !== undefined && !this.isSecondTry) {
      const isSpoilt = this.status === undefined && error instanceof errors.HTTPParserError;
      if (isSpoilt || !this.isAnswering) {
        this.isSecondTry = true;
        if (isSpoilt) this.suspect = answeredPath;
        this.send(this.connections.replace(connection));
        return;
      }
    }
    this.end(this.response() ?? this.failure(error));
  }

  private send(connection: WebhookConnection): void {
    this.connection = connection;
    this.isSent = false;
    connection.deadline.set(this, this.deadline);
    const { target, body } = this.request;
    const headers = headersAt(this.request.headers, this.at);
    connection.send({ path: target.path, method: 'POST', headers, body }, this);
  }

  /** Adds the time that look-ups of the host have waited for their turn. Returns whether there is more time. */
  private awaitLookup(): boolean {
    if (this.connection === undefined || this.hasGrace) return false;
    const deadline = this.start + this.request.timeout + this.connection.lookupWait(this.start);
    if (deadline <= this.deadline) return false;
    this.deadline = deadline;
    this.connection.deadline.set(this, deadline);
    return true;
  }

  /**
   * Restarts the timeout, once, because the process stood still while the connection was made: until the request was
   * sent, the receiver could do nothing. A later standstill needs no restart, since an answer that arrived meanwhile
   * waits in the socket. Returns whether there is more time.
   */
  private extend(): boolean {
    if (this.hasMoreTime) return false;
    this.hasMoreTime = true;
    this.deadline = performance.now() + this.request.timeout;
    this.connection?.deadline.set(this, this.deadline);
    return true;
  }

  private response(): WebhookResponse | undefined {
    const status = this.status;
    if (status === undefined) return undefined;
    const { at, retryAfter, kept: body, hasEnded } = this;
    return { at, duration: this.elapsed(), status, retryAfter, body, hasEnded };
  }

  private failure(error: Error): WebhookResponse {
    return { at: this.at, duration: this.elapsed(), error };
  }

  private elapsed(): number {
    return Math.round(performance.now() - this.start);
  }

  /** Settles the exchange and closes the connection: nobody waits for further data on it. */
  private end(response: WebhookResponse | undefined): void {
    if (!this.leave()) return;
    if (this.connection !== undefined) this.connections.discard(this.connection);
    this.settle(response);
  }

  /**
   * Ends the exchange: nothing that arrives from now on belongs to it. Returns whether it was still running.
   */
  private leave(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    this.connection?.deadline.clear();
    this.inFlight.delete(this);
    return true;
  }
}
