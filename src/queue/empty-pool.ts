import { EventEmitter } from 'node:events';
import type { PgPool, PgPoolClient, PgQueryResult } from 'bullmq';

/** What a database answers that holds nothing and keeps nothing. */
function nothing<R>(): Promise<PgQueryResult<R>> {
  return Promise.resolve({ rows: [], rowCount: 0 });
}

class EmptyClient extends EventEmitter implements PgPoolClient {
  query<R>(): Promise<PgQueryResult<R>> {
    return nothing();
  }

  release(): void {
    // No connection is behind it.
  }
}

/**
 * Takes the place of a database in a process that delivers nothing. What others store there is gone at once,
 * and what they look for is not found.
 */
export class EmptyPool extends EventEmitter implements PgPool {
  /** Tells BullMQ that there is no connection to watch. */
  readonly options = { keepAlive: true };

  query<R>(): Promise<PgQueryResult<R>> {
    return nothing();
  }

  connect(): Promise<PgPoolClient> {
    return Promise.resolve(new EmptyClient());
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}
