import { EventEmitter } from 'node:events';
import {
  ConnectionClosedError,
  type PgPool,
  type PgPoolClient,
  type PgQueryResult,
  runMigrations,
} from 'bullmq';
import { isConnectionFailure } from './connection-failure.js';
import type { QueueHealth } from './queue-health.js';

const FIRST_PROBE_DELAY = 100;
const MAX_PROBE_DELAY = 2_000;

/**
 * A pool that can be used before its server can be reached: it looks for the server until it is there,
 * migrates the schema, and lets queries wait for that. A queue that BullMQ builds over an unreachable
 * pool would remember the failure for ever.
 *
 * Once it was ready, queries fail at once while the server is away, with the error that BullMQ takes for
 * a lost connection: it pauses then, where other errors make a worker spin.
 */
export class ReconnectingPool extends EventEmitter implements PgPool {
  /** Resolves when the server was reached and its schema is up to date; never rejects. */
  readonly ready: Promise<void>;
  /** Tells BullMQ that lost connections are noticed, so that an idle worker may wait for long. */
  readonly options = { keepAlive: true };
  private ended = false;
  private wake: () => void = () => undefined;

  constructor(
    private readonly pool: PgPool,
    private readonly health: QueueHealth,
  ) {
    super();
    pool.on('error', (error) => {
      this.tellDown(error);
    });
    this.ready = this.probe();
  }

  async query<R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> {
    await this.ready;
    return this.watch(() => this.pool.query<R>(text, params));
  }

  async connect(): Promise<PgPoolClient> {
    await this.ready;
    return this.watch(() => this.pool.connect());
  }

  async end(): Promise<void> {
    this.ended = true;
    this.wake();
    await this.pool.end();
  }

  private async watch<T>(work: () => Promise<T>): Promise<T> {
    const askedAt = Date.now();
    try {
      const result = await work();
      this.health.up(askedAt);
      return result;
    } catch (error) {
      if (!isConnectionFailure(error)) throw error;
      this.tellDown(error);
      throw new ConnectionClosedError(undefined, error);
    }
  }

  private async probe(): Promise<void> {
    for (let delay = FIRST_PROBE_DELAY; !this.ended; delay = Math.min(delay * 2, MAX_PROBE_DELAY)) {
      try {
        const client = await this.pool.connect();
        try {
          await runMigrations(client);
        } finally {
          client.release();
        }
        this.health.up();
        return;
      } catch (error) {
        this.tellDown(error);
        await this.pause(delay);
      }
    }
    // Ended before the server was there: what waits for it is to wait for ever, as on a dead connection.
    await new Promise(() => undefined);
  }

  /** What breaks off because it was ended is no news. */
  private tellDown(error: unknown): void {
    if (!this.ended) this.health.down(error);
  }

  private pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delay);
      // Alone it keeps no process alive; work that waits for the server does.
      timer.unref();
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
