/** `audience`: a set of users. `trait`: a computed trait, which has a value for each of its users. */
export type AudienceKind = 'audience' | 'trait';

/** Definition of an audience or a computed trait. */
export interface AudienceDefinition {
  /** Unique name of the user's property that the calls set, in snake_case. */
  trait: string;
  /** Name given by the application. */
  name: string;
  kind: AudienceKind;
  /** Name of the source that the latest calls came from. */
  source?: string;
  /** Names of other sources that earlier calls came from, each once. A deletion from one of them applies here too. */
  earlierSources?: string[];
}

/** A user, and a short text that stands for the user's value. Equal values have equal texts. */
export interface AudienceEntry {
  userId: string;
  /** Never empty. `true` for every member of an audience. */
  value: string;
}

/** A sync holds `sync` from beginning to end. Every change holds `change` during each of its steps. */
export type AudienceLockKind = 'sync' | 'change';

/** The right to change an audience: the `change` lock, held under this token. */
export interface AudienceHold {
  trait: string;
  token: string;
}

/** The result of offering entries. */
export interface OfferResult {
  /** Users who are new, whose value differs, or who were in doubt already. */
  changed: string[];
  /** Number of users already recorded with this value and not offered before in this generation. */
  unchanged: number;
}

/** One page of a long list of users. */
export interface UserPage {
  userIds: string[];
  /** Value of `from` that gets the next page; `undefined` after the last page. */
  next: string | undefined;
}

/**
 * Stores who is in which audience, and the values of computed traits. Each call is atomic.
 *
 * A change takes two calls. First, `offer` or `withdraw` puts the user in doubt. Once the message is in the queue,
 * `settle` records the change. If a process dies in between, or the message is refused, the user stays in doubt. The
 * next change then sends the current value, whatever is recorded, because it is unknown what was sent.
 * `withdraw` and `settle` without a message in between remove a deleted user.
 *
 * Methods that take an `AudienceHold` reject with `AudienceLockLostError`, and do nothing, if the lock is no
 * longer held under that token.
 */
export interface AudienceStore {
  /**
   * Stores a definition unless its trait is taken. If the stored definition has the same name and kind, it gets the
   * new `source`, and its previous source moves to `earlierSources`. Resolves to the stored definition.
   */
  register(definition: AudienceDefinition): Promise<AudienceDefinition>;
  find(trait: string): Promise<AudienceDefinition | undefined>;
  list(): Promise<AudienceDefinition[]>;

  /**
   * Takes a lock for `duration` milliseconds. If another token holds the lock, marks it as wanted instead, and
   * resolves to `false`.
   */
  lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /** Extends a lock. Resolves to `false` if it is no longer held under this token. */
  renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /** Releases a lock if it is held under this token. Resolves to whether another process recently wanted it. */
  unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean>;

  /** Begins a new generation, in which no user has been seen yet. */
  advance(hold: AudienceHold): Promise<void>;
  /** Marks users as seen in this generation, and puts in doubt those who are not recorded with this value. */
  offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult>;
  /** Puts leaving users in doubt. Resolves to those who are recorded or were in doubt already. */
  withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]>;
  /**
   * Like `withdraw`, for a page of users not yet seen in this generation, including users who are only in doubt. A
   * page may be empty. The next page has no user of this page, even if they were not settled.
   */
  withdrawUnseen(hold: AudienceHold, limit: number, from: string | undefined): Promise<UserPage>;
  /** Records the values that users were put in doubt with, and ends the doubt. */
  settle(hold: AudienceHold, userIds: readonly string[]): Promise<void>;

  /** Recorded users, in no particular order. A page may be empty or somewhat larger than the limit. */
  members(trait: string, limit: number, from: string | undefined): Promise<UserPage>;
  /** Deletes an audience and all of its users. */
  drop(hold: AudienceHold): Promise<void>;
}

/** The methods that a valid store has. */
export const AUDIENCE_STORE_METHODS = [
  'register',
  'find',
  'list',
  'lock',
  'renew',
  'unlock',
  'advance',
  'offer',
  'withdraw',
  'withdrawUnseen',
  'settle',
  'members',
  'drop',
] as const satisfies (keyof AudienceStore)[];
