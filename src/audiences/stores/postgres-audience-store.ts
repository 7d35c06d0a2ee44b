import { AudienceLockLostError } from '../../errors/audience.errors.js';
import { isAnswerLost } from '../../queue/postgres/lost-answer.js';
import { OwnTables } from '../../queue/postgres/own-tables.js';
import type { QueueStorage } from '../../queue/queue-backend.js';
import { TimeSlice } from '../../shared/time-slice.js';
import { parseDefinition } from '../audience-definition.js';
import type {
  AudienceDefinition,
  AudienceEntry,
  AudienceHold,
  AudienceLockKind,
  AudienceStore,
  OfferResult,
  UserPage,
} from '../../options/audience-store.js';
import * as statements from './postgres-audience-statements.js';

/**
 * Users per statement. The embedded database needs about 30 µs for each user, and other statements wait
 * meanwhile.
 */
const BATCH = 250;
/** Users that one statement looks at. Users that it does not change cost little. */
const LOOK = 1_000;
/**
 * Changes after which the table is analyzed. Without statistics, PostgreSQL would read a whole audience to find
 * its next users. The server's autovacuum may come too late, and an embedded database has none.
 */
const ANALYZE_AFTER = 10_000;
/** Maximum number of statements per page. Then the lock is released, even if the page is not full. */
const MAX_LOOKS = 10;

type SqlPool = Extract<QueueStorage, { kind: 'postgres' }>['pool'];

interface FencedRow {
  held: boolean;
}

interface PageRow {
  users: string[];
  next: string | null;
}

interface DropRow extends FencedRow {
  next: string | null;
}

interface UsersRow extends FencedRow {
  users: string[];
}

/** Stores membership on the queue's PostgreSQL, server or embedded. */
export class PostgresAudienceStore implements AudienceStore {
  private readonly tables: OwnTables;
  /** Number of users that were changed since the table was last analyzed. */
  private changed = 0;

  constructor(pool: SqlPool) {
    this.tables = new OwnTables(pool, statements.TABLES, statements.CHANGES);
  }

  async register({ trait, name, kind, source }: AudienceDefinition): Promise<AudienceDefinition> {
    await this.query(statements.REGISTER, [trait, name, kind, source]);
    return parseDefinition((await this.query(statements.FIND, [trait]))[0]);
  }

  async find(trait: string): Promise<AudienceDefinition | undefined> {
    return (await this.query(statements.FIND, [trait])).map(parseDefinition)[0];
  }

  async list(): Promise<AudienceDefinition[]> {
    return (await this.query(statements.LIST, [])).map(parseDefinition);
  }

  async lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    const params = [trait, kind, token, duration];
    const taken = await this.query(statements.LOCK, params).catch((error: unknown) => {
      if (!isAnswerLost(error)) throw error;
      // Otherwise, a lock that was given would keep everybody out until it expires, its own caller included.
      return this.query(statements.LOCK, params);
    });
    if (taken.length === 0) await this.query(statements.WANT, [trait, kind]);
    return taken.length > 0;
  }

  async renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    return (await this.query(statements.RENEW, [trait, kind, token, duration])).length > 0;
  }

  async unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean> {
    const [row] = await this.query<{ wanted: boolean }>(statements.UNLOCK, [trait, kind, token]);
    return row?.wanted ?? false;
  }

  async advance(hold: AudienceHold): Promise<void> {
    await this.queryFenced(statements.ADVANCE, hold, []);
  }

  async offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult> {
    const result: OfferResult = { changed: [], unchanged: 0 };
    await this.inBatches(entries, async (batch) => {
      const { users, unchanged } = await this.queryFenced<UsersRow & { unchanged: number }>(
        statements.OFFER,
        hold,
        [batch.map(({ userId }) => userId), batch.map(({ value }) => value)],
      );
      result.changed.push(...users);
      this.changed += users.length;
      result.unchanged += unchanged;
    });
    return result;
  }

  async withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    await this.inBatches(userIds, async (batch) => {
      found.push(...(await this.queryFenced<UsersRow>(statements.WITHDRAW, hold, [batch])).users);
    });
    return found;
  }

  async withdrawUnseen(hold: AudienceHold, limit: number, from = ''): Promise<UserPage> {
    if (from === '') await this.analyze();
    const slice = new TimeSlice();
    const found: string[] = [];
    let next: string | undefined = from;
    for (let looks = 0; next !== undefined && looks < MAX_LOOKS && found.length < limit; looks++) {
      const row: PageRow = await this.queryFenced<FencedRow & PageRow>(statements.UNSEEN, hold, [LOOK, next]);
      found.push(...row.users);
      next = row.next ?? undefined;
      await slice.check();
    }
    const userIds = found.slice(0, limit);
    await this.withdraw(hold, userIds);
    return { userIds, next: found.length > limit ? userIds.at(-1) : next };
  }

  async settle(hold: AudienceHold, userIds: readonly string[]): Promise<void> {
    await this.inBatches(userIds, async (batch) => {
      await this.queryFenced(statements.SETTLE, hold, [batch]);
    });
  }

  async members(trait: string, limit: number, from = ''): Promise<UserPage> {
    if (from === '') await this.analyze();
    const [row] = await this.query<PageRow>(statements.MEMBERS, [trait, limit, from]);
    return { userIds: row?.users ?? [], next: row?.next ?? undefined };
  }

  async drop(hold: AudienceHold): Promise<void> {
    await this.analyze();
    const slice = new TimeSlice();
    let from: string | null = '';
    while (from !== null) {
      const params = [BATCH, from];
      const row: DropRow = await this.queryFenced<DropRow>(statements.DROP_MEMBERS, hold, params);
      from = row.next;
      await slice.check();
    }
    await this.queryFenced(statements.DROP, hold, []);
  }

  private async analyze(): Promise<void> {
    if (this.changed < ANALYZE_AFTER) return;
    this.changed = 0;
    await this.query(statements.ANALYZE, []);
  }

  private async inBatches<T>(
    items: readonly T[],
    run: (batch: readonly T[]) => Promise<void>,
  ): Promise<void> {
    const slice = new TimeSlice();
    for (let start = 0; start < items.length; start += BATCH) {
      await run(items.slice(start, start + BATCH));
      await slice.check();
    }
  }

  private async queryFenced<R extends FencedRow>(
    text: string,
    { trait, token }: AudienceHold,
    params: readonly unknown[],
  ): Promise<R> {
    const [row] = await this.query<R>(text, [trait, token, ...params]);
    if (row?.held !== true) throw new AudienceLockLostError(trait);
    return row;
  }

  private query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    return this.tables.query(text, params);
  }
}
