import { setTimeout as pause } from 'node:timers/promises';
import { types } from 'node:util';
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';
import type pg from 'pg';
import { SharedWork } from '../../shared/shared-work.js';
import { within } from '../../shared/within.js';
import { NO_MORE_CONNECTIONS, NoMoreConnectionsError } from '../queue-failure.js';

/** Milliseconds for which a pool opens no more connections after a refusal. Doubles with each refusal that follows. */
const FIRST_RESTRICTION = 1_000;
const MAX_RESTRICTION = 30_000;
/** Milliseconds that the server usually needs to free a closed connection. */
const SOON = 50;

/** Message of `pg` when no client of a pool was free in time. */
const NONE_FREE = 'timeout exceeded when trying to connect';

export interface SparingOptions {
  /** Number of connections that the pool keeps when another pool needs one. */
  keeps: number;
  /** Returns the pool on which statements run while this pool has no connection and is refused one. */
  substitute?: () => SparingPool | undefined;
}

/**
 * A pool that makes do with the connections that it has when the server refuses another one. If it has none, its
 * statements run on its substitute, or another pool of this process gives up a connection. Only if nothing helps does
 * the caller learn of the refusal. Until a refusal, this is an ordinary pool.
 */
export class SparingPool {
  private readonly pool: PgPool & Pick<pg.Pool, 'options' | 'totalCount' | 'waitingCount'>;
  /** Maximum number of connections if the server refuses none. */
  readonly max: number;
  private readonly timeout: number;
  private readonly clients = new Set<object>();
  private readonly giving = new SharedWork(() => this.giveOne());
  private readonly gift = new SharedWork(() => this.isGivenOne());
  private isGiving = false;
  /** Runs while the pool opens no more connections. */
  private timer: NodeJS.Timeout | undefined;
  private restriction = 0;
  private liftedAt = -Infinity;
  private refusedAt = -Infinity;
  /** When another pool last gave up a connection for this one. */
  private givenAt = -Infinity;

  /**
   * @param pools all pools of this process on the server
   * @param onRefused is called when the server refuses a connection
   */
  constructor(
    pool: pg.Pool,
    private readonly pools: readonly SparingPool[],
    private readonly sparing: SparingOptions,
    private readonly onRefused: () => void,
  ) {
    this.pool = pool;
    this.max = pool.options.max;
    this.timeout = pool.options.connectionTimeoutMillis ?? 0;
    pool.on('remove', (client) => {
      this.clients.delete(client);
    });
  }

  /** Number of open connections. */
  get size(): number {
    // A client that is ending no longer counts in the pool, but may still be in the set.
    return Math.min(this.clients.size, this.pool.totalCount);
  }

  /** Whether the server may refuse a new connection in place of a closed one. */
  get isShort(): boolean {
    return this.timer !== undefined;
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.pool.on(event, listener);
  }

  query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    return this.run(
      () => this.pool.query<R>(text, params),
      (substitute) => substitute.query<R>(text, params),
    );
  }

  connect(): Promise<PgPoolClient> {
    return this.run(
      () => this.pool.connect(),
      (substitute) => substitute.connect(),
    );
  }

  end(): Promise<void> {
    clearTimeout(this.timer);
    return this.pool.end();
  }

  /** Called when a new client of this pool can be used. */
  opened(client: object): void {
    this.clients.add(client);
    this.adapt();
  }

  private async run<T>(work: () => Promise<T>, onSubstitute: (pool: SparingPool) => Promise<T>): Promise<T> {
    const askedAt = performance.now();
    const end = askedAt + this.timeout;
    for (;;) {
      const { substitute } = this;
      if (substitute !== undefined) return onSubstitute(substitute);
      try {
        return await work();
      } catch (error) {
        if (isRefused(error)) {
          this.refusedAt = performance.now();
          this.restrict();
          this.onRefused();
        } else if (!isNoneFree(error) || !(this.isShort || this.refusedAt >= askedAt)) {
          throw error;
        }
        if (this.substitute !== undefined) continue;
        if (isNoneFree(error)) throw new NoMoreConnectionsError({ cause: error });
        if (performance.now() > end || !(await this.isHelped(end))) throw error;
      }
    }
  }

  /** The pool on which statements run instead of this one, if any. */
  private get substitute(): SparingPool | undefined {
    return this.isShort && this.free === 0 ? this.sparing.substitute?.() : undefined;
  }

  /** Number of connections that the pool has and is not giving up. */
  private get free(): number {
    return this.isGiving ? this.size - 1 : this.size;
  }

  /** Resolves to whether there is a connection after all for a statement that was refused one. */
  private async isHelped(end: number): Promise<boolean> {
    const canGoOn = (): boolean => this.free > 0 || this.sparing.substitute?.() !== undefined;
    if (canGoOn()) return true;
    do await pause(SOON);
    while (!canGoOn() && this.pools.some((pool) => pool.isAsking) && performance.now() < end);
    if (canGoOn() || (await within(end - performance.now(), this.gift.result())) === true) return true;
    // The server may not have freed the given connection yet. The pool that gave it up opens none while it is restricted.
    return performance.now() - this.givenAt < FIRST_RESTRICTION;
  }

  private async isGivenOne(): Promise<boolean> {
    for (const other of this.pools) {
      if (other === this || !(await other.giving.result())) continue;
      this.givenAt = performance.now();
      await pause(SOON);
      return true;
    }
    return false;
  }

  /** Whether the pool still waits for the server to open or refuse a connection. */
  private get isAsking(): boolean {
    return this.pool.totalCount > this.size;
  }

  /** Closes a connection, so that another pool may open one. */
  private async giveOne(): Promise<boolean> {
    if (this.size <= this.sparing.keeps) return false;
    this.restrict();
    this.isGiving = true;
    try {
      const client = await this.pool.connect();
      this.clients.delete(client);
      client.release(true);
      // The first restriction may be over by now, and statements that wait here would take the freed connection.
      this.restrict();
      return true;
    } catch {
      // No connection became free.
      return false;
    } finally {
      this.isGiving = false;
      this.adapt();
    }
  }

  private restrict(): void {
    if (this.timer === undefined) {
      const isAgain = performance.now() - this.liftedAt < this.restriction;
      this.restriction = isAgain ? Math.min(2 * this.restriction, MAX_RESTRICTION) : FIRST_RESTRICTION;
      this.timer = setTimeout(this.lift, this.restriction).unref();
    }
    this.adapt();
  }

  /** Makes statements wait for the open connections. Without any, each statement has to ask: nothing would wake it. */
  private adapt(): void {
    if (this.isShort) this.pool.options.max = this.size === 0 ? this.max : this.size;
  }

  private readonly lift = (): void => {
    this.timer = undefined;
    this.liftedAt = performance.now();
    this.pool.options.max = this.max;
    // Opens a connection for statements that already wait. They would otherwise wait until one of the others is free.
    if (this.pool.waitingCount === 0) return;
    this.connect().then(
      (client) => {
        client.release();
      },
      () => undefined,
    );
  };
}

function isRefused(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === NO_MORE_CONNECTIONS;
}

function isNoneFree(error: unknown): boolean {
  return types.isNativeError(error) && error.message === NONE_FREE;
}
