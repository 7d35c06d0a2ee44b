import { EventEmitter } from 'node:events';
import type { PgPoolClient, PgQueryResult } from 'bullmq';
import type { PGliteSession } from './pglite-session.js';

const BEGINS = /^\s*(BEGIN|START\s+TRANSACTION)\b/i;
const ENDS = /^\s*(COMMIT|END|ABORT|ROLLBACK(?!\s+(WORK\s+|TRANSACTION\s+)?TO\b))\b/i;

/** What a client needs of the pool that it came from. */
export interface PGliteClientOwner {
  readonly session: PGliteSession;
  /** Runs a statement in a turn of its own. */
  query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>>;
  /** The client will not be used any more. */
  released(client: PGliteClient): void;
  emit(event: 'error', error: unknown): boolean;
}

/**
 * A client of the pool. All of them share the database's one session: settings and LISTEN of one hold
 * for all, and a notification is told to each of them. BullMQ filters what it is told by channel and
 * queue, and never ends a LISTEN.
 */
export class PGliteClient extends EventEmitter implements PgPoolClient {
  private endTurn: (() => void) | undefined;

  constructor(private readonly owner: PGliteClientOwner) {
    super();
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    if (this.endTurn) return this.queryInTransaction(text, params);
    if (!BEGINS.test(text)) return this.owner.query(text, params);
    this.endTurn = await this.owner.session.turns.acquire();
    try {
      return await this.owner.session.query(text, params);
    } catch (error) {
      this.leaveTransaction();
      throw error;
    }
  }

  /** Gives the client back; a transaction that it left open is rolled back. */
  release(): void {
    this.owner.released(this);
    if (this.endTurn) void this.query('ROLLBACK').catch((error: unknown) => this.owner.emit('error', error));
  }

  private async queryInTransaction<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    try {
      return await this.owner.session.query(text, params);
    } finally {
      // Even a failed COMMIT ends the transaction.
      if (ENDS.test(text)) this.leaveTransaction();
    }
  }

  private leaveTransaction(): void {
    this.endTurn?.();
    this.endTurn = undefined;
  }
}
