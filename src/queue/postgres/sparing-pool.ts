import { setTimeout as pause } from 'node:timers/promises';
import { types } from 'node:util';
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';
import type pg from 'pg';
import { SharedWork } from '../../shared/shared-work.js';
import { within } from '../../shared/within.js';
import { NO_MORE_CONNECTIONS, NoMoreConnectionsError } from '../queue-failure.js';

/** How long a pool opens no more connections after a refusal, in milliseconds: twice as long after each that follows. */
const FIRST_RESTRICTION = 1_000;
const MAX_RESTRICTION = 30_000;
/** How long the server mostly takes for a connection that is closed, in milliseconds. */
const SOON = 50;

/** How `pg` says that no client of a pool was free in time. */
const NONE_FREE = 'timeout exceeded when trying to connect';

export interface SparingOptions {
  /** Connections that it gives up for no other pool. */
  keeps: number;
  /** Where its statements run while it has no connection and is refused one. */
  substitute?: () => SparingPool | undefined;
}

/**
 * A pool that goes on with the connections that it has where the server refuses another one. Where it has none, its
 * statements run on those of its substitute, or another pool of this process gives one up. Only if nothing helps does its
 * user learn of the refusal. Until the server refuses one, it is an ordinary pool.
 */
export class SparingPool {
  private readonly pool: PgPool & Pick<pg.Pool, 'options' | 'totalCount' | 'waitingCount'>;
  private readonly max: number;
  private readonly timeout: number;
  private readonly clients = new Set<object>();
  private readonly giving = new SharedWork(() => this.giveOne());
  private readonly gift = new SharedWork(() => this.isGivenOne());
  private isGiving = false;
  /** Runs while it opens no more connections. */
  private timer: NodeJS.Timeout | undefined;
  private restriction = 0;
  private liftedAt = -Infinity;
  private refusedAt = -Infinity;
  /** When another pool last gave up a connection for this one. */
  private givenAt = -Infinity;

  /**
   * @param pools those of this process on the server
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

  /** How many connections it has. */
  get size(): number {
    // A client that is ending is no longer among the pool's.
    return Math.min(this.clients.size, this.pool.totalCount);
  }

  /** Whether the server may give none in place of a connection that is closed. */
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

  /** A client of its own can be used. */
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

  /** Where statements run now, instead of here. */
  private get substitute(): SparingPool | undefined {
    return this.isShort && this.free === 0 ? this.sparing.substitute?.() : undefined;
  }

  /** Connections that it has, and goes on to have. */
  private get free(): number {
    return this.isGiving ? this.size - 1 : this.size;
  }

  /** Whether there is another connection for what was refused one. */
  private async isHelped(end: number): Promise<boolean> {
    const canGoOn = (): boolean => this.free > 0 || this.sparing.substitute?.() !== undefined;
    if (canGoOn()) return true;
    do await pause(SOON);
    while (!canGoOn() && this.pools.some((pool) => pool.isAsking) && performance.now() < end);
    if (canGoOn() || (await within(end - performance.now(), this.gift.result())) === true) return true;
    // The server may not have taken back yet what was given, and the giver itself opens none for as long.
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

  /** Whether the server has not answered yet whether it gives another connection. */
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
      // The first restriction may be over, and those that wait here would have what was given.
      this.restrict();
      return true;
    } catch {
      // None became free.
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

  /** Statements wait for the connections that it has. Where it has none, each has to ask: nothing would wake them. */
  private adapt(): void {
    if (this.isShort) this.pool.options.max = this.size === 0 ? this.max : this.size;
  }

  private readonly lift = (): void => {
    this.timer = undefined;
    this.liftedAt = performance.now();
    this.pool.options.max = this.max;
    // Those that wait already would otherwise go on to wait for one of the others.
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
