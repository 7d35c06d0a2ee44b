import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionEnds } from './connection-ends.js';
import { http1ConnectionOf } from './connection-of.js';
import { closeNow } from './request-order.js';

/** How long an exchange may take that begins when the time for all exchanges is over, in milliseconds. */
const LATE_PATIENCE = 2_000;

/**
 * Closes the connections of unfinished exchanges when the application shuts down: of requests that were answered before
 * their body had arrived, and of answers that have not been read. A web server that is closing waits for them, and, when an
 * exchange is finished, for the idle connection.
 */
export class OpenExchanges {
  /** Connections by answer. */
  private readonly open = new Map<ServerResponse, Socket>();
  private readonly ends = new ConnectionEnds();
  private state: 'running' | 'closing' | 'over' = 'running';

  /** Watches an exchange whose answer was written. */
  watch(request: IncomingMessage, response: ServerResponse): void {
    const socket = http1ConnectionOf(request);
    if (socket === undefined || socket.destroyed || isFinished(request, response)) return;
    this.open.set(response, socket);
    const unwatch = this.ends.watch(request, () => this.open.delete(response));
    const onStep = (): void => {
      if (!isFinished(request, response)) return;
      unwatch();
      this.open.delete(response);
      if (this.state !== 'running') closeNow(request);
    };
    request.once('end', onStep);
    response.once('finish', onStep);
    if (this.state === 'over') this.endLater(response);
  }

  /** From now on, closes each connection as soon as its exchanges are finished. */
  close(): void {
    this.state = 'closing';
  }

  /** Closes the connections of all exchanges that are not finished. */
  end(): void {
    this.state = 'over';
    for (const response of this.open.keys()) this.cut(response);
  }

  private endLater(response: ServerResponse): void {
    setTimeout(() => {
      this.cut(response);
    }, LATE_PATIENCE).unref();
  }

  /** Closes the connection of an exchange, unless an earlier request over it still waits for its answer. */
  private cut(response: ServerResponse): void {
    // Node gives an answer the socket once it has sent all earlier ones, and takes it back at the end.
    const isBehind = response.socket === null && !response.writableFinished;
    if (!isBehind) this.open.get(response)?.destroy();
    else if (this.open.has(response)) this.endLater(response);
  }
}

function isFinished(request: IncomingMessage, response: ServerResponse): boolean {
  return request.complete && response.writableFinished;
}
