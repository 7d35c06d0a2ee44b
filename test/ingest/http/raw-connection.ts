import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { basic, type TrackingServer } from './tracking-server.js';

/** A connection over which a test writes requests byte by byte. */
export class RawConnection {
  /** Everything that the server has answered so far. */
  text = '';

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => (this.text += chunk.toString())).on('error', () => undefined);
  }

  static async open({ url }: TrackingServer): Promise<RawConnection> {
    const connection = new RawConnection(connect(Number(new URL(url).port), '127.0.0.1'));
    await once(connection.socket, 'connect');
    return connection;
  }

  /** Statuses of the answers so far. */
  get statuses(): number[] {
    return Array.from(this.text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status));
  }

  /** Resolves when the server has answered as many requests. */
  async answered(count: number): Promise<void> {
    while (this.statuses.length < count) await once(this.socket, 'data');
  }

  async close(): Promise<void> {
    if (this.socket.closed) return;
    this.socket.destroy();
    await once(this.socket, 'close');
  }
}

/**
 * Returns the head of a request with a body.
 *
 * @param writeKey key for Basic authentication
 */
export function headOf(path: string, length: number, writeKey?: string): string {
  const { authorization } = writeKey === undefined ? { authorization: undefined } : basic(writeKey);
  const key = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`;
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${key}Content-Length: ${length}\r\n\r\n`;
}
