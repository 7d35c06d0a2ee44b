import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionEnds } from './connection-ends.js';
import { connectionOf } from './connection-of.js';

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
    // Over HTTP/2, a connection carries requests to the host's routes at the same time.
    const socket = request.httpVersionMajor === 1 ? connectionOf(request) : undefined;
    if (socket === undefined || socket.destroyed || isFinished(request, response)) return;
    this.open.set(response, socket);
    const unwatch = this.ends.watch(request, () => this.open.delete(response));
    const onStep = (): void => {
      if (!isFinished(request, response)) return;
      unwatch();
      this.open.delete(response);
      if (this.state !== 'running' && !this.isOpen(socket)) socket.destroySoon();
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
    for (const socket of this.open.values()) socket.destroy();
  }

  private endLater(response: ServerResponse): void {
    setTimeout(() => this.open.get(response)?.destroy(), LATE_PATIENCE).unref();
  }

  private isOpen(socket: Socket): boolean {
    for (const other of this.open.values()) if (other === socket) return true;
    return false;
  }
}

function isFinished(request: IncomingMessage, response: ServerResponse): boolean {
  return request.complete && response.writableFinished;
}
