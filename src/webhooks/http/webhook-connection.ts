import type { Socket } from 'node:net';
import type { Client as UndiciClient, Dispatcher } from 'undici';
import { Deadline } from '../../shared/deadline.js';
import type { Connector } from './guarded-connector.js';
import type { IdleConnection } from './idle-connections.js';
import type { NameLookup } from './name-cache.js';
import { MAX_HEAD_BYTES, MAX_REST_BYTES, ResponseReader } from './response-reader.js';
import { Client } from './undici.js';

/** How long an idle socket is kept if the receiver names no time, and the maximum, in milliseconds. */
const KEEP_ALIVE = 4_000;
const KEEP_ALIVE_MAX = 30_000;

/**
 * How long a connection takes requests, in milliseconds. Only a new connection looks the name up. Without this limit, a
 * receiver that has moved would get its requests at the old address for as long as they leave no pause.
 */
const MAX_AGE = 60_000;
/** Share of `MAX_AGE` that a connection may end earlier. Otherwise an origin's connections would all reopen at once. */
const AGE_SPREAD = 0.25;

/** Receives a response through the HTTP client's own callbacks, and one more. */
export interface ResponseHandler extends Dispatcher.DispatchHandler {
  /** Called when the first bytes of a response have arrived, and perhaps again for later ones. */
  onFirstByte(): void;
  /** Called when all that has arrived was read, if the head of the response has ended. */
  onPause(): void;
}

/**
 * One connection slot to an origin: at most one socket, one request at a time. Each socket has a client of
 * its own, rather than a pool that hides it. This distinguishes a receiver that failed from a keep-alive
 * socket that had died unnoticed, and makes it possible to end a socket that is still connecting.
 */
export class WebhookConnection implements IdleConnection<WebhookConnection> {
  older: WebhookConnection | undefined;
  newer: WebhookConnection | undefined;
  /** The deadline of the request that it carries. */
  readonly deadline = new Deadline();
  private readonly client: UndiciClient;
  /** Time from which the connection is old, by `performance.now()`. */
  private readonly oldFrom = performance.now() + MAX_AGE * (1 - Math.random() * AGE_SPREAD);
  private socket: Socket | undefined;
  /** Look-ups of the host: one by DNS, perhaps one by the system, and both again if a session could not be resumed. */
  private readonly lookups = new Set<NameLookup>();
  private reader: ResponseReader | undefined;
  private handler: ResponseHandler | undefined;
  /** Path of the latest request. */
  private path: string | undefined;
  private answered: string | undefined;

  /** @param onDisconnect called when the socket was closed, or is about to be because too many are idle */
  constructor(
    origin: string,
    connector: Connector,
    private readonly onDisconnect: (connection: WebhookConnection) => void,
  ) {
    this.client = new Client(origin, {
      connect: (options, callback) => {
        const connected: typeof callback = (...[error, socket]) => {
          if (socket === null) {
            callback(error, null);
            return;
          }
          this.reader = new ResponseReader(socket, this.onFirstByte, this.onPause);
          callback(null, socket);
        };
        const onSocket = (socket: Socket): void => {
          this.socket = socket;
          // This may be a second socket, for a connection that has been ended meanwhile.
          if (this.client.destroyed) socket.destroy();
        };
        connector(options, connected, onSocket, (lookup) => this.lookups.add(lookup));
      },
      pipelining: 1,
      allowH2: false,
      // Never reached: the reader has already cut off the head and the trailers.
      maxHeaderSize: MAX_HEAD_BYTES + MAX_REST_BYTES,
      keepAliveTimeout: KEEP_ALIVE,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX,
      // The deadline of the exchange covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.client.on('disconnect', () => {
      this.answered = undefined;
      onDisconnect(this);
    });
  }

  /** Whether the connection should take no more requests. */
  get isOld(): boolean {
    return performance.now() >= this.oldFrom;
  }

  /** Path of the latest request that the current socket has answered; `undefined` if it has answered none yet. */
  get answeredPath(): string | undefined {
    return this.answered;
  }

  /** Returns how many milliseconds look-ups of the host have waited for their turn since a `performance.now()` time. */
  lookupWait(since: number): number {
    let wait = 0;
    for (const { wantedAt, begun = performance.now() } of this.lookups)
      wait += Math.max(begun - Math.max(wantedAt, since), 0);
    return wait;
  }

  send(request: Dispatcher.DispatchOptions, handler: ResponseHandler): void {
    this.handler = handler;
    this.path = request.path;
    this.reader?.expectHead();
    this.client.dispatch(request, handler);
  }

  /** Called when the head of the response has ended. */
  endHead(): void {
    this.reader?.endHead();
  }

  /** Called when a response has ended properly. Only then may the socket be used again. */
  markAnswered(): void {
    this.answered = this.path;
  }

  evict(): void {
    this.onDisconnect(this);
  }

  /** Closes the socket, even while it is still connecting, and fails the request that it carries. */
  async destroy(): Promise<void> {
    this.deadline.stop();
    // Until the socket is connected, undici does not know it and could not end it.
    this.socket?.destroy();
    await this.client.destroy();
  }

  private readonly onFirstByte = (): void => {
    this.handler?.onFirstByte();
  };

  private readonly onPause = (): void => {
    this.handler?.onPause();
  };
}
