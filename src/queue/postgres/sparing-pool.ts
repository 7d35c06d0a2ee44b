import { setTimeout as pause } from 'node:timers/promises';
import { types } from 'node:util';
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';
import type pg from 'pg';
import { SharedWork } from '../../shared/shared-work.js';
import { BusyConnectionsError, NO_MORE_CONNECTIONS } from '../queue-failure.js';

/** How long a pool opens no more connections after it was refused one, in milliseconds. */
const RESTRICTED_FOR = 30_000;
/** How long a connection that is being opened or closed may take, in milliseconds. */
const SOON = 50;
/** Refusals of one statement after which it fails. Others may take each connection that becomes free. */
const MAX_REFUSALS = 5;

/** How `pg` says that no client of a pool was free in time. */
const NONE_FREE = 'timeout exceeded when trying to connect';

/**
 * A pool that goes on with the connections that it has where the server refuses another one: what was refused waits for
 * one of them. Where a listener has the last one, statements run on the queue's, and where a pool has none, another pool of
 * this process gives one up. Only if nothing helps does its user learn of the refusal.
 */
export class SparingPool {
  private readonly pool: PgPool;
  private readonly options: pg.PoolOptions;
  private readonly max: number;
  private readonly clients = new Set<object>();
  private readonly listeners = new Set<object>();
  /** Listeners that wait for a client. */
  private sought = 0;
  private answeredAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private readonly giving = new SharedWork(() => this.giveOne());

  /**
   * @param pools those of this process on the server, the queue's first
   * @param onRestricted is called when it opens no more connections for a while
   */
  constructor(
    pool: pg.Pool,
    private readonly pools: readonly SparingPool[],
    private readonly onRestricted: () => void,
  ) {
    this.pool = pool;
    this.options = pool.options;
    this.max = pool.options.max;
    pool.on('connect', (client) => {
      this.clients.add(client);
    });
    pool.on('remove', (client) => {
      this.clients.delete(client);
      this.listeners.delete(client);
    });
  }

  /** How many connections it has. */
  get size(): number {
    return this.clients.size;
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.pool.on(event, listener);
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    const result = await this.sparing(
      () => this.pool.query<R>(text, params),
      (queue) => queue.query<R>(text, params),
    );
    this.answered();
    return result;
  }

  /** A client for a moment. */
  connect(): Promise<PgPoolClient> {
    return this.sparing(
      () => this.pool.connect(),
      (queue) => queue.connect(),
    );
  }

  /** A client for as long as its connection lasts. */
  async listen(): Promise<PgPoolClient> {
    this.sought++;
    try {
      const client = await this.sparing(() => this.pool.connect());
      this.listeners.add(client);
      return client;
    } finally {
      this.sought--;
    }
  }

  end(): Promise<void> {
    clearTimeout(this.timer);
    return this.pool.end();
  }

  /** The server is there, even if it still works on each statement. */
  answered(): void {
    this.answeredAt = performance.now();
  }

  /** @param borrow does the work on the queue's pool; a listener needs a connection of its own */
  private async sparing<T>(work: () => Promise<T>, borrow?: (queue: SparingPool) => Promise<T>): Promise<T> {
    const askedAt = performance.now();
    for (let refusals = 1; ; refusals++) {
      const [queue] = this.pools;
      if (this.isTaken && borrow !== undefined && queue !== undefined) return borrow(queue);
      try {
        return await work();
      } catch (error) {
        if (isNoneFree(error) && this.answeredAt > askedAt) throw new BusyConnectionsError({ cause: error });
        if (!isRefused(error) || refusals > MAX_REFUSALS) throw error;
        if (!(await this.canGoOn(borrow === undefined))) throw error;
      }
    }
  }

  /** Whether listeners have all connections that it may open. */
  private get isTaken(): boolean {
    return this.options.max <= this.sought + this.listeners.size;
  }

  /** Connections that statements can run on. */
  private get free(): number {
    return this.size - this.sought - this.listeners.size;
  }

  /** Whether there is another connection for what was refused one. */
  private async canGoOn(isListener: boolean): Promise<boolean> {
    // The one that it waits for is not taken by it yet.
    const hasOne = (): boolean => (isListener ? this.free + 1 : this.free) > 0;
    if (!hasOne()) await pause(SOON);
    const canBorrow = !isListener && this.sought + this.listeners.size > 0;
    if (!hasOne() && !canBorrow) return this.isGivenOne();
    this.restrict(this.size);
    return true;
  }

  private async isGivenOne(): Promise<boolean> {
    for (const other of this.pools) {
      if (other === this || !(await other.giving.result())) continue;
      await pause(SOON);
      return true;
    }
    return false;
  }

  private async giveOne(): Promise<boolean> {
    if (this.size < 2 || this.free < 1) return false;
    this.restrict(this.size - 1);
    try {
      const client = await this.pool.connect();
      client.release(true);
      return true;
    } catch {
      // None became free.
      return false;
    }
  }

  private restrict(max: number): void {
    this.options.max = Math.min(this.options.max, Math.max(max, 1));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.options.max = this.max;
    }, RESTRICTED_FOR).unref();
    this.onRestricted();
  }
}

function isRefused(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === NO_MORE_CONNECTIONS;
}

function isNoneFree(error: unknown): boolean {
  return types.isNativeError(error) && error.message === NONE_FREE;
}
