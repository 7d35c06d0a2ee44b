import { EventEmitter } from 'node:events';
import type { PgPool, PgQueryResult } from 'bullmq';
import { Mutex } from '../../shared/mutex.js';
import { within } from '../../shared/within.js';
import type { DatabaseEngine } from './database-engine.js';
import { PGliteClient, type PGliteClientOwner } from './pglite-client.js';

export interface PGlitePoolHooks {
  /** Called after each statement that ran outside a transaction. */
  afterStatement(): void;
  /** Called when it is known that the pool will end soon. */
  announceEnd?(): void;
  /** Closes the database under the pool. Called once, after the last statement. */
  close(): Promise<void>;
  /** Called if `close` takes too long. Absent if the database cannot be broken off: the pool then waits for `close`. */
  breakOff?: (() => Promise<void>) | undefined;
}

/** Milliseconds to wait for a database to end once it is broken off. It cannot end while a disk does not answer. */
const BREAK_OFF_TIME = 250;

/**
 * Makes the only session of an embedded database look like a `pg` pool, for BullMQ's PostgreSQL backend. Its
 * users take turns. A turn ends as soon as its statement is on its way, so that the database always has work;
 * only a transaction keeps its turn from BEGIN to COMMIT, or the statements of others would become part of it.
 */
export class PGlitePool extends EventEmitter implements PgPool, PGliteClientOwner {
  /** BullMQ reads this to decide how long a worker may block: this connection cannot drop unnoticed. */
  readonly options = { keepAlive: true };
  readonly turns = new Mutex();
  /** The same database, for statements whose commits nobody waits for. */
  readonly asynchronous: PgPool = new AsynchronousCommits(this);
  private readonly clients = new Set<PGliteClient>();
  private ending: Promise<void> | undefined;

  constructor(
    readonly engine: DatabaseEngine,
    private readonly hooks: PGlitePoolHooks,
  ) {
    super();
    engine.onNotification((channel, payload) => {
      for (const client of this.clients) client.emit('notification', { channel, payload });
    });
  }

  /** Whether `end` was called. Earlier statements still run, new ones are rejected. */
  get ended(): boolean {
    return this.ending !== undefined;
  }

  async query<R>(text: string, params?: readonly unknown[], isDurable = true): Promise<PgQueryResult<R>> {
    this.refuseWhenEnded();
    const result = await this.inTurn(() => this.engine.query<R>(text, params, isDurable));
    this.hooks.afterStatement();
    return result;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a pool rejects, it does not throw
  async connect(): Promise<PGliteClient> {
    this.refuseWhenEnded();
    const client = new PGliteClient(this);
    this.clients.add(client);
    this.emit('connect', client);
    return client;
  }

  /** Tells others who want to open the database that it will soon be closed. The pool can still be used. */
  announceEnd(): void {
    this.hooks.announceEnd?.();
  }

  /**
   * Waits for the earlier statements, then closes the database. Safe to call again.
   *
   * @param patience milliseconds after which the database is broken off, if it can be. @default it may take as long as
   *   it does
   */
  end(patience = Infinity): Promise<void> {
    if (this.ending === undefined) this.announceEnd();
    this.ending ??= this.close(patience);
    return this.ending;
  }

  released(client: PGliteClient): void {
    this.clients.delete(client);
  }

  private async close(patience: number): Promise<void> {
    const closed = this.inTurn(() => this.hooks.close());
    const { breakOff } = this.hooks;
    if (breakOff === undefined) return closed;
    const isClosed = closed.then(() => true);
    if (await within(patience, isClosed)) return;
    // Breaking off the database makes the pending close fail.
    isClosed.catch(() => undefined);
    await within(BREAK_OFF_TIME, breakOff());
  }

  private async inTurn<T>(start: () => Promise<T>): Promise<T> {
    const endTurn = await this.turns.acquire();
    const started = start();
    endTurn();
    return started;
  }

  private refuseWhenEnded(): void {
    // BullMQ recognizes a closing pool by this message of `pg`.
    if (this.ended) throw new Error('Cannot use a pool after calling end on the pool');
  }
}

/** A view of a pool that answers statements outside a transaction before their commits are durable. */
class AsynchronousCommits extends EventEmitter implements PgPool {
  readonly options = { keepAlive: true };

  constructor(private readonly pool: PGlitePool) {
    super();
  }

  query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    return this.pool.query(text, params, false);
  }

  connect(): Promise<PGliteClient> {
    return this.pool.connect();
  }

  /** Does nothing: whoever opened the pool ends it. */
  end(): Promise<void> {
    return Promise.resolve();
  }
}
