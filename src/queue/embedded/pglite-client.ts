import { EventEmitter } from 'node:events';
import type { PgPoolClient, PgQueryResult } from 'bullmq';
import type { Mutex } from '../../shared/mutex.js';
import type { DatabaseEngine } from './database-engine.js';

const BEGINS = /^\s*(BEGIN|START\s+TRANSACTION)\b/i;
const ENDS = /^\s*(COMMIT|END|ABORT|ROLLBACK(?!\s+(WORK\s+|TRANSACTION\s+)?TO\b))\b/i;

/** What a client needs from its pool. */
export interface PGliteClientOwner {
  readonly engine: DatabaseEngine;
  readonly turns: Mutex;
  /** Runs a statement in a turn of its own. */
  query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>>;
  /** Tells the owner that the client will not be used any more. */
  released(client: PGliteClient): void;
  emit(event: 'error', error: unknown): boolean;
}

/**
 * A client of the pool. All clients share the database's only session: the settings and LISTEN of one client apply to
 * all, and each client receives every notification. Listeners filter notifications by channel and queue, and nobody
 * ends a LISTEN.
 */
export class PGliteClient extends EventEmitter implements PgPoolClient {
  private endTurn: (() => void) | undefined;

  constructor(private readonly owner: PGliteClientOwner) {
    super();
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    if (this.endTurn) return this.queryInTransaction(text, params);
    if (!BEGINS.test(text)) return this.owner.query(text, params);
    this.endTurn = await this.owner.turns.acquire();
    try {
      return await this.owner.engine.query(text, params);
    } catch (error) {
      this.leaveTransaction();
      throw error;
    }
  }

  /** Returns the client to the pool. An open transaction is rolled back. */
  release(): void {
    this.owner.released(this);
    if (this.endTurn) void this.query('ROLLBACK').catch((error: unknown) => this.owner.emit('error', error));
  }

  private queryInTransaction<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    const result = this.owner.engine.query<R>(text, params);
    // Even a failed COMMIT ends the transaction.
    if (ENDS.test(text)) this.leaveTransaction();
    return result;
  }

  private leaveTransaction(): void {
    this.endTurn?.();
    this.endTurn = undefined;
  }
}
