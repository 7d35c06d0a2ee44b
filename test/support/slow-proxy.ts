import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands in front of a server, and makes it seem far away. */
export class SlowProxy {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    private readonly delay: number,
  ) {}

  /** @param roundTrip milliseconds by which each answer is delayed */
  static async before(target: string, roundTrip: number): Promise<SlowProxy> {
    const server = createServer();
    const proxy = new SlowProxy(server, new URL(target), roundTrip / 2);
    server.on('connection', (socket) => {
      proxy.accept(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  /** The target's URL with the address of this proxy. */
  get url(): string {
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('The proxy does not listen');
    const url = new URL(this.target);
    url.host = `127.0.0.1:${address.port}`;
    return url.href;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    const closed = once(this.server, 'close');
    this.server.close();
    await closed;
  }

  private accept(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    this.pass(near, far);
    this.pass(far, near);
  }

  private pass(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => undefined);
    from.on('data', (chunk) => {
      setTimeout(() => {
        if (to.writable) to.write(chunk);
      }, this.delay);
    });
    from.on('close', () => {
      this.sockets.delete(from);
      setTimeout(() => to.destroy(), this.delay);
    });
  }
}
