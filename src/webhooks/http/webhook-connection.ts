import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { Deadline } from '../../time/deadline.js';
import type { Connector } from './guarded-connector.js';
import type { Idler } from './idle-connections.js';

/** Receivers' response heads over this are refused, in bytes. */
const MAX_HEAD_BYTES = 16 * 1024;

/** How long an idle socket is kept when the receiver names no time, and at most, in milliseconds. */
const KEEP_ALIVE = 4_000;
const KEEP_ALIVE_MAX = 30_000;

/**
 * One connection slot to an origin: at most one socket, one request at a time. A client of its own for
 * each socket, rather than a pool that hides them, is what tells a receiver that failed from a keep-alive
 * socket that had died unnoticed, and what ends a socket that is still connecting.
 */
export class WebhookConnection implements Idler<WebhookConnection> {
  older: WebhookConnection | undefined;
  newer: WebhookConnection | undefined;
  /** Of the request on it. */
  readonly deadline = new Deadline();
  readonly #client: Client;
  #socket: Socket | undefined;
  #hasAnswered = false;

  /** @param onDisconnect called when the socket was closed, and when it is to be since it is idle */
  constructor(
    origin: string,
    connector: Connector,
    private readonly onDisconnect: (connection: WebhookConnection) => void,
  ) {
    this.#client = new Client(origin, {
      connect: (options, callback) => {
        this.#socket = connector(options, callback);
      },
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: KEEP_ALIVE,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX,
      // The deadline of the exchange covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.on('disconnect', () => {
      this.#hasAnswered = false;
      onDisconnect(this);
    });
  }

  /** Whether the present socket has answered a request before. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(request, handler);
  }

  /** Called when a response has ended in good order: only then may the socket be used again. */
  markAnswered(): void {
    this.#hasAnswered = true;
  }

  evict(): void {
    this.onDisconnect(this);
  }

  /** Ends the socket, also one that is still connecting, and with it the request on it. */
  async destroy(): Promise<void> {
    this.deadline.stop();
    // Until it is connected, undici does not know the socket and could not end it.
    this.#socket?.destroy();
    await this.#client.destroy();
  }
}
