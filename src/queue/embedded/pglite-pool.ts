import { EventEmitter } from 'node:events';
import type { PgPool, PgQueryResult } from 'bullmq';
import { PGliteClient, type PGliteClientOwner } from './pglite-client.js';
import type { PGliteSession } from './pglite-session.js';

export interface PGlitePoolHooks {
  /** Called after each statement that ran outside a transaction. */
  afterStatement(): void;
  /** Closes what the pool stands on; called once, when the last statement is through. */
  close(): Promise<void>;
}

/** One PGlite in the shape of a `pg` pool, as BullMQ's PostgreSQL backend takes it. */
export class PGlitePool extends EventEmitter implements PgPool, PGliteClientOwner {
  /** BullMQ reads it to learn how long a worker may block: this connection cannot drop unnoticed. */
  readonly options = { keepAlive: true };
  private readonly clients = new Set<PGliteClient>();
  private ending: Promise<void> | undefined;

  constructor(
    readonly session: PGliteSession,
    private readonly hooks: PGlitePoolHooks,
  ) {
    super();
    session.onNotification((channel, payload) => {
      for (const client of this.clients) client.emit('notification', { channel, payload });
    });
  }

  /** Whether `end` was called: what was asked before still runs, nothing is taken any more. */
  get ended(): boolean {
    return this.ending !== undefined;
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    this.refuseWhenEnded();
    const result = await this.session.turns.run(() => this.session.query<R>(text, params));
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

  /** Waits for the statements that were asked before, then closes the database. Safe to call again. */
  end(): Promise<void> {
    this.ending ??= this.session.turns.run(() => this.hooks.close());
    return this.ending;
  }

  released(client: PGliteClient): void {
    this.clients.delete(client);
  }

  private refuseWhenEnded(): void {
    // The text is that of `pg`: BullMQ knows by it that it is closing.
    if (this.ended) throw new Error('Cannot use a pool after calling end on the pool');
  }
}
