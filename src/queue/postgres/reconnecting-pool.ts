import { EventEmitter } from 'node:events';
import { ConnectionClosedError, type PgPool, type PgPoolClient, type PgQueryResult } from 'bullmq';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';
import { SharedWork } from '../../shared/shared-work.js';
import { explainDamage } from '../damaged-tables.js';
import { explainEnd } from '../ended-statements.js';
import { failureOf } from '../queue-failure.js';
import type { QueueHealth } from '../queue-health.js';
import { explainRefusal } from '../refused-tables.js';
import { explainRemoval, RemovedOwnTableError } from '../removed-tables.js';
import { ownStatementFor } from './own-statements.js';

const FIRST_PROBE_DELAY = 100;
const MAX_PROBE_DELAY = 2_000;
/** Maximum number of idle connections that a pool may have lost without noticing. Few pools hold more. */
const LOST_AT_ONCE = 100;

/** What a `ReconnectingPool` needs of the pool under it. */
export type UnderlyingPool = Pick<PgPool, 'query' | 'connect' | 'end'> & {
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Whether the server may refuse a new connection in place of a closed one. */
  readonly isShort?: boolean;
  readonly max?: number;
};

export interface ConnectingOptions {
  /** Promise that the pool awaits before it connects. */
  after?: Promise<void>;
  /** Connects a client for a caller of `connect`, not for the pool's own use. */
  handOut?: () => Promise<PgPoolClient>;
}

/**
 * A pool that can be used before its server is reachable. It tries to connect until it succeeds, and prepares
 * the database; queries wait for that. A queue that BullMQ builds over an unreachable pool would
 * remember the failure for ever.
 *
 * Once the pool was ready, queries fail at once while the server is unreachable or stores nothing. They fail
 * with the error that BullMQ takes for a lost connection, because BullMQ then pauses. Other errors make a
 * worker spin.
 */
export class ReconnectingPool extends EventEmitter implements PgPool {
  /** Resolves when the server was reached and is prepared. Never rejects. */
  readonly ready: Promise<void>;
  /**
   * Resolves after the first attempt to reach the server. Rejects if the server can never carry the queue.
   */
  readonly firstAnswer: Promise<void>;
  /** Tells BullMQ that lost connections are noticed, so that an idle worker may block for long. */
  readonly options = { keepAlive: true };
  private ended = false;
  private readonly check = new SharedWork(() => this.tellIfAway());
  private wake: () => void = () => undefined;

  /** @param prepare checks the server and prepares the database before any query runs */
  constructor(
    private readonly pool: UnderlyingPool,
    private readonly health: QueueHealth,
    private readonly prepare: (client: PgPoolClient) => Promise<unknown>,
    private readonly connecting: ConnectingOptions = {},
  ) {
    super();
    pool.on('error', (error) => {
      this.lost(error);
    });
    const first = this.attempt();
    this.firstAnswer = first.then((error) => {
      if (error instanceof UnsupportedQueueServerError) throw error;
    });
    // The code that opens the pool only awaits this while the application starts.
    this.firstAnswer.catch(() => undefined);
    this.ready = this.probe(first);
  }

  /** Maximum number of connections. `undefined` if the pool is of the embedded database. */
  get max(): number | undefined {
    return this.pool.max;
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    await this.ready;
    return this.watch(() => this.pool.query<R>(ownStatementFor(text), params), text);
  }

  async connect(): Promise<PgPoolClient> {
    await this.ready;
    return this.watch(this.connecting.handOut ?? (() => this.pool.connect()));
  }

  /** Connects and prepares the database. Call this again if something that the pool needs was removed. */
  async open(): Promise<void> {
    await this.connecting.after;
    const client = await this.pool.connect();
    let failure: unknown;
    try {
      await this.prepare(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      // A client that failed in a transaction must not be used again.
      client.release(failure !== undefined);
    }
  }

  /** @param endPool ends the pool under it */
  async end(endPool: () => Promise<void> = () => this.pool.end()): Promise<void> {
    this.ended = true;
    this.health.close();
    this.wake();
    await endPool();
  }

  private async watch<T>(work: () => Promise<T>, text?: string): Promise<T> {
    const askedAt = performance.now();
    try {
      const result = await work();
      this.health.answered(askedAt, text);
      return result;
    } catch (failure) {
      const error = explained(failure, text);
      if (failureOf(error) === undefined) throw error;
      this.lost(error, text, askedAt);
      // Only this module's own statements need such a table, and this error tells their callers which one.
      if (error instanceof RemovedOwnTableError) throw error;
      throw new ConnectionClosedError(undefined, error);
    }
  }

  /**
   * Reports a failure. A lost connection alone is no outage: a proxy or `idle_session_timeout` may have closed it, and
   * whoever repeats a statement gets another one at once. So this first checks whether the server can be reached.
   */
  private lost(error: unknown, statement?: string, askedAt?: number): void {
    if (!this.health.isUp || failureOf(error)?.kind !== 'unreachable') {
      this.tellDown(error, statement, askedAt);
      return;
    }
    if (statement !== undefined) this.health.answerLost();
    void this.check.result();
  }

  private async tellIfAway(): Promise<void> {
    try {
      await this.reach();
    } catch (error) {
      this.tellDown(error);
    }
  }

  /** Rejects if the server does not answer. Tries several connections, since idle ones may have been lost as well. */
  private async reach(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const client = await this.pool.connect();
      let isKept = false;
      try {
        await client.query('SELECT 1');
        // If idle connections are being closed, this one is next. It is kept only if the server may refuse another.
        isKept = this.pool.isShort === true;
        return;
      } catch (error) {
        if (tries > LOST_AT_ONCE || failureOf(error)?.kind !== 'unreachable') throw error;
      } finally {
        client.release(!isKept);
      }
    }
  }

  private async probe(first: Promise<unknown>): Promise<void> {
    let askedAt = performance.now();
    let error = await first;
    for (let delay = FIRST_PROBE_DELAY; error !== undefined; delay = Math.min(delay * 2, MAX_PROBE_DELAY)) {
      // The pool was ended before the server was reachable. Waiting queries keep waiting, as on a dead
      // connection.
      if (this.ended) return new Promise(() => undefined);
      await this.pause(delay);
      askedAt = performance.now();
      error = await this.attempt();
    }
    this.health.stored(askedAt);
  }

  /** Resolves to the error if the server could not be reached or prepared. */
  private async attempt(): Promise<unknown> {
    try {
      await this.open();
      return undefined;
    } catch (error) {
      this.tellDown(error);
      return error;
    }
  }

  /** Statements that break off because the pool was ended are not reported. */
  private tellDown(error: unknown, statement?: string, askedAt?: number): void {
    if (!this.ended) this.health.failed(error, statement, askedAt);
  }

  private pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      // The timer keeps no process alive. Work that waits for the server does.
      timer.unref();
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Returns an error that says what failed, as far as the code of a failure and its statement tell. */
function explained(failure: unknown, statement: string | undefined): unknown {
  const explanations = [explainRefusal, explainRemoval, explainDamage, explainEnd];
  return explanations.reduce((error, explain) => explain(error, statement), failure);
}
