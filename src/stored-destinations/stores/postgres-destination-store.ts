import type {
  DestinationPageQuery,
  StoredDestination,
  WritableDestinationStore,
} from '../../options/destination-store.js';
import { ConnectionTurns } from '../../queue/postgres/connection-turns.js';
import { OwnTables } from '../../queue/postgres/own-tables.js';
import type { QueuePool } from '../../queue/queue-backend.js';
import { failureOf } from '../../queue/queue-failure.js';
import {
  type DestinationChange,
  type DestinationChanges,
  type DestinationFeed,
  NO_CHANGE,
} from '../destination-feed.js';
import * as statements from './postgres-destination-statements.js';
import { SeenChanges } from './seen-changes.js';
import { changeText, parseChange, parseDestination } from './stored-destination.js';

/** PostgreSQL refuses a text with this character. Senders choose ids and cursors, so these may contain it. */
const NUL = '\0';

/** Number of connections unless the user's pool has another one. */
const USUAL_CONNECTIONS = 10;

/**
 * Connections that statements may take while all of them wait for a lock. Together with one that reads changes, they
 * leave at least one for the queue's jobs if there are four or more.
 */
interface Share {
  readonly part: number;
  readonly most: number;
}
/** Look-ups for messages. With more connections, there may be as many as in another store. */
const LOOKUPS: Share = { part: 0.4, most: 8 };
/** All others. Changes are committed one after the other, so more of them at once would not be faster. */
const OTHERS: Share = { part: 0.3, most: 4 };

function shareOf(connections: number, { part, most }: Share): number {
  return Math.min(Math.max(Math.floor(connections * part), 1), most);
}

interface RecordRow {
  record: string;
}

interface ChangeRow {
  change: string;
}

/**
 * Stores destinations on the queue's PostgreSQL, server or embedded. Every change is recorded with its write.
 * Destinations without a tenant are stored under an empty text, which is not a valid tenant.
 */
export class PostgresDestinationStore implements WritableDestinationStore, DestinationFeed {
  readonly mostLookups: number;
  readonly turns: ConnectionTurns;
  private readonly tables: OwnTables;
  private readonly seen = new SeenChanges();

  constructor(pool: QueuePool) {
    const { max = USUAL_CONNECTIONS } = pool;
    this.mostLookups = shareOf(max, LOOKUPS);
    this.turns = new ConnectionTurns(shareOf(max, OTHERS));
    this.tables = new OwnTables(pool, statements.TABLES);
  }

  async findByTenant(tenant: string | undefined): Promise<StoredDestination[]> {
    if (tenant === '') return [];
    return recordsIn(await this.lookUp(statements.FIND_BY_TENANT, [tenant ?? '']));
  }

  async findById(id: string): Promise<StoredDestination | 'deleted' | undefined> {
    if (id.includes(NUL)) return undefined;
    const [row] = await this.lookUp(statements.FIND_BY_ID, [id]);
    if (row === undefined) return undefined;
    return row.record === '' ? 'deleted' : parseDestination(row.record);
  }

  async list({
    tenant,
    after: cursor = '',
    enabled,
    limit,
  }: DestinationPageQuery): Promise<StoredDestination[]> {
    if (tenant === '') return [];
    // No id contains the character, so the same ids come after the part of the cursor before it.
    const [after = ''] = cursor.split(NUL, 1);
    if (tenant !== undefined) return this.records(statements.LIST_OF_TENANT, [after, limit, tenant]);
    const statement = enabled === false ? statements.LIST_DISABLED : statements.LIST_ALL;
    return this.records(statement, [after, limit]);
  }

  insert(destination: StoredDestination, limit: number): Promise<boolean> {
    const { id, tenant = '', version } = destination;
    const most = Number.isFinite(limit) ? limit : Number.MAX_SAFE_INTEGER;
    const params = [id, tenant, version, JSON.stringify(destination), changeText(destination), most];
    return this.change(statements.INSERT, params, () => this.holds(destination));
  }

  replace(destination: StoredDestination): Promise<boolean> {
    const { id, version } = destination;
    const params = [id, version, JSON.stringify(destination), changeText(destination)];
    return this.change(statements.REPLACE, params, () => this.holds(destination));
  }

  async remove(id: string): Promise<boolean> {
    const found = await this.findById(id);
    if (found === undefined || found === 'deleted') return false;
    const isGone = async (): Promise<boolean> => (await this.findById(id)) === 'deleted';
    return this.change(statements.REMOVE, [id, changeText(found)], isGone);
  }

  async publish(change: DestinationChange): Promise<void> {
    await this.turns.run(change.tenant, () => this.tables.query(statements.PUBLISH, [changeText(change)]));
  }

  changesSince(since: string | undefined): Promise<DestinationChanges> {
    return this.seen.check(async (seen) => {
      // If no change is known yet, only the latest one is asked for.
      const known = since === undefined ? [] : [since, ...seen];
      const from = Math.min(Number.MAX_SAFE_INTEGER, ...known.map(revisionOf));
      const [first, ...rows] = await this.tables.query<ChangeRow>(statements.CHANGES_SINCE, [from]);
      const latest = first?.change ?? NO_CHANGE;
      const kept = rows.map(({ change }) => change);
      if (since === undefined || !known.every((change) => isKept(change, kept))) {
        return { latest, changes: undefined };
      }
      const later = kept.slice(kept.indexOf(since) + 1);
      return { latest, changes: later.map((change) => parseChange(change.slice(change.indexOf(' ') + 1))) };
    });
  }

  /** Looks records up, and remembers the latest change at that time. */
  private async lookUp(text: string, params: readonly unknown[]): Promise<RecordRow[]> {
    const [first, ...rows] = await this.tables.query<RecordRow>(text, params);
    this.seen.add(first?.record ?? NO_CHANGE);
    return rows;
  }

  private async records(text: string, params: readonly unknown[]): Promise<StoredDestination[]> {
    return recordsIn(await this.tables.query<RecordRow>(text, params));
  }

  /**
   * Makes a change, once more if the connection breaks. The server may have made the change before that.
   *
   * @param isMade whether it has
   */
  private async change(
    text: string,
    params: readonly unknown[],
    isMade: () => Promise<boolean>,
  ): Promise<boolean> {
    try {
      return await this.hasChanged(text, params);
    } catch (error) {
      if (failureOf(error)?.kind !== 'unreachable') throw error;
    }
    if (await isMade()) return true;
    try {
      if (await this.hasChanged(text, params)) return true;
    } catch (error) {
      // The server may still have been making the change, which is then the reason why it refuses the second one.
      if (await isMade()) return true;
      throw error;
    }
    return isMade();
  }

  /** Whether a destination is stored exactly as given. */
  private async holds(destination: StoredDestination): Promise<boolean> {
    const [row] = await this.lookUp(statements.FIND_BY_ID, [destination.id]);
    return row?.record === JSON.stringify(destination);
  }

  private async hasChanged(text: string, params: readonly unknown[]): Promise<boolean> {
    return (await this.tables.query(text, params)).length > 0;
  }
}

function recordsIn(rows: readonly RecordRow[]): StoredDestination[] {
  // Rows that come from another thread may be an array of another realm, as in tests run by Jest.
  return Array.from(rows, ({ record }) => parseDestination(record));
}

/** @param kept all changes from some time on, in order */
function isKept(change: string, kept: readonly string[]): boolean {
  const [oldest] = kept;
  if (change === NO_CHANGE) return oldest === undefined || revisionOf(oldest) === 1;
  return kept.includes(change);
}

function revisionOf(change: string): number {
  return Number.parseInt(change, 10);
}
