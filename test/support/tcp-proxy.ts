import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What a proxy needs to know of the server behind it. */
interface Target {
  readonly port: number;
}

/** Where a connection breaks within an exchange. */
interface Break {
  asked: RegExp;
  answered: RegExp;
  onBroken: () => void;
}

/** Stands between an application and its server, as a load balancer does, and misbehaves on request. */
export class TcpProxy {
  private readonly connections = new Set<[near: Socket, far: Socket]>();
  private isSwallowing = false;
  private break: Break | undefined;
  /** Connections that were accepted so far. */
  accepted = 0;

  private constructor(
    private readonly server: Server,
    private target: Target,
  ) {
    server.on('connection', (near) => {
      this.accept(near);
    });
  }

  static async start(target: Target): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, target);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    // A server that listens on a port has an address.
    return (this.server.address() as AddressInfo).port;
  }

  /** Returns the URL of the server with the port of this proxy. */
  through(url: string): string {
    const proxied = new URL(url);
    proxied.port = String(this.port);
    return proxied.href;
  }

  /** Reads from all connections that are open now, and passes nothing on. New connections work. */
  swallowOpen(): void {
    for (const [near, far] of this.connections) {
      near.unpipe(far).resume();
      far.unpipe(near).resume();
    }
  }

  /** Does the same for new connections as well. With `false`, ends that and resets all connections. */
  swallow(isSwallowing: boolean): void {
    this.isSwallowing = isSwallowing;
    if (isSwallowing) this.swallowOpen();
    else this.reset();
  }

  /** Resets all connections. */
  reset(): void {
    for (const [near] of this.connections) near.resetAndDestroy();
  }

  /**
   * Breaks a connection once, in the middle of an answer. Resolves when that has happened.
   *
   * @param asked what is written to the server in one piece
   * @param answered the beginning of the server's answer, and all of it that is passed on
   */
  breakWithin(asked: RegExp, answered: RegExp): Promise<void> {
    return new Promise((onBroken) => {
      this.break = { asked, answered, onBroken };
    });
  }

  /** Leads new connections to another server. */
  turnTo(target: Target): void {
    this.target = target;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.reset();
    await closed;
  }

  private accept(near: Socket): void {
    this.accepted++;
    const far = connect(this.target.port, '127.0.0.1');
    const pair: [Socket, Socket] = [near, far];
    this.connections.add(pair);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.connections.delete(pair);
        near.destroy();
        far.destroy();
      });
    }
    if (this.isSwallowing) {
      near.resume();
      far.resume();
    } else {
      near.pipe(far);
      far.pipe(near);
      near.on('data', (chunk: Buffer) => {
        if (this.break?.asked.test(chunk.toString('latin1')) === true) this.breakNow(near, far, this.break);
      });
    }
  }

  private breakNow(near: Socket, far: Socket, { answered, onBroken }: Break): void {
    this.break = undefined;
    let answer = '';
    far
      .unpipe(near)
      .on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1');
        const [beginning] = answered.exec(answer) ?? [];
        if (beginning === undefined) return;
        far.pause();
        near.end(beginning, 'latin1', onBroken);
      })
      .resume();
  }
}
