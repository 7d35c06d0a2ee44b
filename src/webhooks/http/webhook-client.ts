import type { Socket } from 'node:net';
import { guardedConnector, type Connector, type ConnectorOptions } from './guarded-connector.js';
import { IdleConnections } from './idle-connections.js';
import { InFlightList } from './in-flight-list.js';
import { OriginConnections } from './origin-connections.js';
import { PhaseTimer, type RequestPhases } from '../diagnostics/request-phases.js';
import type { WebhookConnection } from './webhook-connection.js';
import { WebhookExchange } from './webhook-exchange.js';
import type { WebhookRequest } from './webhook-request.js';
import type { SettleRequest, WebhookResponse } from './webhook-response.js';

const MAX_IDLE_CONNECTIONS = 2_000;

export interface WebhookClientOptions extends ConnectorOptions {
  /** Largest number of sockets per origin. */
  connections: number;
  /** Largest number of sockets that wait for their next request, over all origins. @default 2000 */
  idleConnections?: number;
}

/** A response, with the duration of each phase. */
export type TracedResponse = WebhookResponse & { phases: RequestPhases };

/**
 * Posts webhooks: HTTP/1.1 over keep-alive connections, with one deadline for the whole exchange, no
 * redirects, no decompression, and no proxy from the environment. One client serves any number of origins
 * under one policy for private networks.
 */
export class WebhookClient {
  /** Largest number of sockets per origin. */
  readonly connections: number;
  private readonly connector: Connector;
  private readonly origins = new Map<string, OriginConnections>();
  private readonly idle: IdleConnections<WebhookConnection>;
  private readonly inFlight = new InFlightList<WebhookExchange>();
  private readonly watched = new WeakSet<AbortSignal>();
  private isClosed = false;

  constructor(options: WebhookClientOptions) {
    this.connections = options.connections;
    this.idle = new IdleConnections(options.idleConnections ?? MAX_IDLE_CONNECTIONS);
    this.connector = guardedConnector(options);
  }

  /** @param settle called once; with `undefined` if the signal or `close()` ended the request */
  post(request: WebhookRequest, settle: SettleRequest): void {
    if (this.isClosed || request.signal.aborted) settle(undefined);
    else this.exchange(request, this.origin(request.target.origin), settle);
  }

  /**
   * Sends a request as `post` does, but on a new connection that is closed afterwards. So the request waits for no
   * other, counts towards no limit, and each of its phases can be timed.
   */
  async trace(request: WebhookRequest): Promise<TracedResponse | undefined> {
    if (this.isClosed || request.signal.aborted) return undefined;
    const timer = new PhaseTimer();
    const connector: Connector = (options, callback, onSocket, onLookup) => {
      const watch = (socket: Socket): void => {
        timer.watch(socket);
        onSocket(socket);
      };
      this.connector(options, callback, watch, onLookup);
    };
    const connections = new OriginConnections(
      request.target.origin,
      1,
      connector,
      this.idle,
      () => undefined,
    );
    const onFirstByte = (): void => {
      timer.end('firstByte');
    };
    const response = await new Promise<WebhookResponse | undefined>((settle) => {
      this.exchange({ ...request, onFirstByte }, connections, settle);
    });
    await connections.destroy();
    return response && { ...response, phases: timer.phases };
  }

  /** Ends all requests in flight and closes every socket. */
  async close(): Promise<void> {
    this.isClosed = true;
    const origins = [...this.origins.values()];
    const destroyed = origins.map((origin) => origin.destroy());
    for (const exchange of this.inFlight) exchange.abort();
    await Promise.all(destroyed);
  }

  private exchange(request: WebhookRequest, connections: OriginConnections, settle: SettleRequest): void {
    this.watch(request.signal);
    connections.request(new WebhookExchange(request, connections, this.inFlight, settle));
  }

  /** Adds one listener per signal, since hundreds of requests may share a signal. */
  private watch(signal: AbortSignal): void {
    if (this.watched.has(signal)) return;
    this.watched.add(signal);
    const abort = (): void => {
      for (const exchange of this.inFlight) if (exchange.signal === signal) exchange.abort();
    };
    signal.addEventListener('abort', abort, { once: true });
  }

  private origin(origin: string): OriginConnections {
    let connections = this.origins.get(origin);
    if (connections === undefined) {
      connections = new OriginConnections(origin, this.connections, this.connector, this.idle, this.forget);
      this.origins.set(origin, connections);
    }
    return connections;
  }

  private readonly forget = (origin: string): void => {
    this.origins.delete(origin);
  };
}
