import type {
  AudienceDefinition,
  AudienceEntry,
  AudienceHold,
  AudienceLockKind,
  AudienceStore,
  OfferResult,
  UserPage,
} from '../options/audience-store.js';
import { AudienceLockLostError } from '../errors/audience.errors.js';

interface User {
  /** The recorded value. */
  value?: string | undefined;
  /** The value that the user was put in doubt with; empty if the user is to leave. */
  doubt?: string | undefined;
  generation: number;
}

interface Audience {
  definition: AudienceDefinition;
  generation: number;
  users: Map<string, User>;
}

interface Lock {
  token: string;
  expiresAt: number;
  isWanted: boolean;
}

/** Keeps audiences in memory, for one process. */
export class MemoryAudienceStore implements AudienceStore {
  private readonly audiences = new Map<string, Audience>();
  private readonly locks = new Map<string, Lock>();

  register(definition: AudienceDefinition): Promise<AudienceDefinition> {
    const { trait, name, kind } = definition;
    const known = this.audiences.get(trait);
    if (known === undefined) this.audiences.set(trait, { definition, generation: 0, users: new Map() });
    else if (known.definition.name === name && known.definition.kind === kind)
      known.definition = withEarlier(definition, known.definition);
    return Promise.resolve(known?.definition ?? definition);
  }

  find(trait: string): Promise<AudienceDefinition | undefined> {
    return Promise.resolve(this.audiences.get(trait)?.definition);
  }

  list(): Promise<AudienceDefinition[]> {
    return Promise.resolve([...this.audiences.values()].map(({ definition }) => definition));
  }

  lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    const held = this.heldLock(trait, kind);
    if (held !== undefined) held.isWanted = true;
    else this.locks.set(`${kind} ${trait}`, { token, expiresAt: Date.now() + duration, isWanted: false });
    return Promise.resolve(held === undefined);
  }

  renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean> {
    const held = this.heldLock(trait, kind);
    if (held?.token !== token) return Promise.resolve(false);
    held.expiresAt = Date.now() + duration;
    return Promise.resolve(true);
  }

  unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean> {
    const held = this.heldLock(trait, kind);
    if (held?.token !== token) return Promise.resolve(false);
    this.locks.delete(`${kind} ${trait}`);
    return Promise.resolve(held.isWanted);
  }

  async advance(hold: AudienceHold): Promise<void> {
    (await this.held(hold)).generation++;
  }

  async offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult> {
    const { users, generation } = await this.held(hold);
    const result: OfferResult = { changed: [], unchanged: 0 };
    for (const { userId, value } of entries) {
      const user = users.get(userId);
      if (user?.generation === generation && user.doubt === undefined) continue;
      const isSame = user !== undefined && user.doubt === undefined && user.value === value;
      users.set(userId, { value: user?.value, doubt: isSame ? undefined : value, generation });
      if (isSame) result.unchanged++;
      else result.changed.push(userId);
    }
    return result;
  }

  async withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]> {
    const { users } = await this.held(hold);
    return userIds.filter((userId) => {
      const user = users.get(userId);
      if (user !== undefined) user.doubt = '';
      return user !== undefined;
    });
  }

  async withdrawUnseen(hold: AudienceHold, limit: number): Promise<UserPage> {
    const { users, generation } = await this.held(hold);
    const unseen = [...users].filter(([, user]) => user.generation < generation).slice(0, limit);
    // Users who stay in doubt are not on the next page again.
    for (const [, user] of unseen) user.generation = generation;
    const userIds = await this.withdraw(
      hold,
      unseen.map(([userId]) => userId),
    );
    return { userIds, next: userIds.length < limit ? undefined : 'more' };
  }

  async settle(hold: AudienceHold, userIds: readonly string[]): Promise<void> {
    const { users } = await this.held(hold);
    for (const userId of userIds) {
      const user = users.get(userId);
      if (user?.doubt === '') users.delete(userId);
      else if (user?.doubt !== undefined) users.set(userId, { ...user, value: user.doubt, doubt: undefined });
    }
  }

  members(trait: string, limit: number, from = '0'): Promise<UserPage> {
    const recorded = [...(this.audiences.get(trait)?.users ?? [])].filter(
      ([, { value }]) => value !== undefined,
    );
    const end = Number(from) + limit;
    const userIds = recorded.slice(Number(from), end).map(([userId]) => userId);
    return Promise.resolve({ userIds, next: end < recorded.length ? String(end) : undefined });
  }

  async drop(hold: AudienceHold): Promise<void> {
    await this.held(hold);
    this.audiences.delete(hold.trait);
  }

  private heldLock(trait: string, kind: AudienceLockKind): Lock | undefined {
    const lock = this.locks.get(`${kind} ${trait}`);
    return lock !== undefined && lock.expiresAt > Date.now() ? lock : undefined;
  }

  private held({ trait, token }: AudienceHold): Promise<Audience> {
    const audience = this.audiences.get(trait);
    if (audience === undefined || this.heldLock(trait, 'change')?.token !== token) {
      return Promise.reject(new AudienceLockLostError(trait));
    }
    return Promise.resolve(audience);
  }
}

function withEarlier(latest: AudienceDefinition, known: AudienceDefinition): AudienceDefinition {
  const earlier = new Set(known.earlierSources);
  if (known.source !== undefined) earlier.add(known.source);
  if (latest.source !== undefined) earlier.delete(latest.source);
  return earlier.size === 0 ? latest : { ...latest, earlierSources: [...earlier] };
}
