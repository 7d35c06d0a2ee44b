import type { RedisCommands } from '../../queue/queue-backend.js';
import { AudienceLockLostError } from '../../errors/audience.errors.js';
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
import * as scripts from './redis-audience-scripts.js';
import type { RedisScript } from '../../queue/redis/redis-script.js';

const DEFINITIONS = 'nestjs-analytics:audiences';
/** A scan starts and ends with this cursor. */
const SCAN_START = '0';

/** All keys of an audience share a hash tag, so that a script finds them on one node of a cluster. */
const keyOf = (trait: string, name: string): string => `{nestjs-analytics:audience:${trait}}:${name}`;

/** Stores membership on the queue's Redis. */
export class RedisAudienceStore implements AudienceStore {
  constructor(private readonly client: RedisCommands) {}

  async register(definition: AudienceDefinition): Promise<AudienceDefinition> {
    const args = [definition.trait, JSON.stringify(definition)];
    return parseDefinition(await scripts.REGISTER.run(this.client, [DEFINITIONS], args));
  }

  async find(trait: string): Promise<AudienceDefinition | undefined> {
    const json = await scripts.FIND.run(this.client, [DEFINITIONS], [trait]);
    return json === null ? undefined : parseDefinition(json);
  }

  async list(): Promise<AudienceDefinition[]> {
    return asStrings(await scripts.LIST.run(this.client, [DEFINITIONS], [])).map(parseDefinition);
  }

  async lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    return (await scripts.LOCK.run(this.client, lockKeys(trait, kind), [token, duration])) === 1;
  }

  async renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    return (await scripts.RENEW.run(this.client, lockKeys(trait, kind), [token, duration])) === 1;
  }

  async unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean> {
    return (await scripts.UNLOCK.run(this.client, lockKeys(trait, kind), [token])) === 1;
  }

  async advance(hold: AudienceHold): Promise<void> {
    await this.runFenced(scripts.ADVANCE, hold, []);
  }

  async offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult> {
    const args = entries.flatMap(({ userId, value }) => [userId, value]);
    const [changed, unchanged] = asArray(await this.runFenced(scripts.OFFER, hold, args));
    return { changed: asStrings(changed), unchanged: Number(unchanged) };
  }

  async withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]> {
    return asStrings(await this.runFenced(scripts.WITHDRAW, hold, userIds));
  }

  async withdrawUnseen(hold: AudienceHold, limit: number, from = SCAN_START): Promise<UserPage> {
    const [userIds, next] = asArray(await this.runFenced(scripts.WITHDRAW_UNSEEN, hold, [limit, from]));
    return { userIds: asStrings(userIds), next: next === '' ? undefined : String(next) };
  }

  async settle(hold: AudienceHold, userIds: readonly string[]): Promise<void> {
    await this.runFenced(scripts.SETTLE, hold, userIds);
  }

  async members(trait: string, limit: number, from = SCAN_START): Promise<UserPage> {
    const [cursor, pairs] = asArray(
      await scripts.MEMBERS.run(this.client, [keyOf(trait, 'members')], [from, limit]),
    );
    const userIds = asStrings(pairs).filter((_, index) => index % 2 === 0);
    return { userIds, next: cursor === SCAN_START ? undefined : String(cursor) };
  }

  async drop(hold: AudienceHold): Promise<void> {
    await this.runFenced(scripts.DROP, hold, []);
    await scripts.UNREGISTER.run(this.client, [DEFINITIONS], [hold.trait]);
  }

  private async runFenced(
    script: RedisScript,
    { trait, token }: AudienceHold,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const keys = ['lock:change', 'members', 'values', 'doubts', 'generation', 'answer'];
    const named = keys.map((name) => keyOf(trait, name));
    const answer = await script.run(this.client, named, [token, ...args]);
    if (answer === null) throw new AudienceLockLostError(trait);
    return answer;
  }
}

function lockKeys(trait: string, kind: AudienceLockKind): string[] {
  return [keyOf(trait, `lock:${kind}`), keyOf(trait, `wanted:${kind}`)];
}

function asArray(answer: unknown): unknown[] {
  return Array.isArray(answer) ? answer : [];
}

function asStrings(answer: unknown): string[] {
  return asArray(answer).map(String);
}
