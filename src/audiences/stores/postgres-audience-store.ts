import { AudienceLockLostError } from '../errors/audience-lock-lost.error.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import { parseDefinition } from './audience-definition.js';
import type {
  AudienceDefinition,
  AudienceEntry,
  AudienceHold,
  AudienceLockKind,
  AudienceStore,
  OfferResult,
  UserPage,
} from './audience-store.js';
import { MIGRATION } from './postgres-audience-schema.js';
import * as statements from './postgres-audience-statements.js';

/** Rows that are deleted at once. */
const DROP_BATCH = 5_000;

type SqlPool = Extract<QueueStorage, { kind: 'postgres' }>['pool'];

interface FencedRow {
  held: boolean;
}

interface UserRow {
  user_id: string;
}

interface UsersRow extends FencedRow {
  users: string[];
}

/** Keeps membership on the queue's PostgreSQL, a server's or the embedded one. */
export class PostgresAudienceStore implements AudienceStore {
  private migrated: Promise<unknown> | undefined;

  constructor(private readonly pool: SqlPool) {}

  async register({ trait, name, kind }: AudienceDefinition): Promise<AudienceDefinition> {
    await this.query(statements.REGISTER, [trait, name, kind]);
    return parseDefinition((await this.query(statements.FIND, [trait]))[0]);
  }

  async find(trait: string): Promise<AudienceDefinition | undefined> {
    return (await this.query(statements.FIND, [trait])).map(parseDefinition)[0];
  }

  async list(): Promise<AudienceDefinition[]> {
    return (await this.query(statements.LIST, [])).map(parseDefinition);
  }

  async lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    const taken = await this.query(statements.LOCK, [trait, kind, token, duration]);
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
    const { users, unchanged } = await this.queryFenced<UsersRow & { unchanged: number }>(
      statements.OFFER,
      hold,
      [entries.map(({ userId }) => userId), entries.map(({ value }) => value)],
    );
    return { changed: users, unchanged };
  }

  async withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]> {
    return (await this.queryFenced<UsersRow>(statements.WITHDRAW, hold, [userIds])).users;
  }

  async withdrawUnseen(hold: AudienceHold, limit: number, from = ''): Promise<UserPage> {
    const { users } = await this.queryFenced<UsersRow>(statements.WITHDRAW_UNSEEN, hold, [limit, from]);
    return pageOf(users, limit);
  }

  async settle(hold: AudienceHold, userIds: readonly string[]): Promise<void> {
    await this.queryFenced(statements.SETTLE, hold, [userIds]);
  }

  async members(trait: string, limit: number, from = ''): Promise<UserPage> {
    const rows = await this.query<UserRow>(statements.MEMBERS, [trait, limit, from]);
    return pageOf(
      rows.map((row) => row.user_id),
      limit,
    );
  }

  async drop(hold: AudienceHold): Promise<void> {
    let deleted: number;
    do {
      ({ deleted } = await this.queryFenced<FencedRow & { deleted: number }>(statements.DROP_MEMBERS, hold, [
        DROP_BATCH,
      ]));
    } while (deleted > 0);
    await this.queryFenced(statements.DROP, hold, []);
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

  private async query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    this.migrated ??= this.pool.query(MIGRATION);
    try {
      await this.migrated;
    } catch (error) {
      // A server that was away is asked again the next time.
      this.migrated = undefined;
      throw error;
    }
    return (await this.pool.query<R>(text, params)).rows;
  }
}

/** The rows are in order, so the next page begins after the last of them. */
function pageOf(userIds: string[], limit: number): UserPage {
  return { userIds, next: userIds.length < limit ? undefined : userIds.at(-1) };
}
