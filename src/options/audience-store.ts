/** `audience`: a set of users. `trait`: a value for each of some users. */
export type AudienceKind = 'audience' | 'trait';

/** What identifies an audience or a computed trait in a store. */
export interface AudienceDefinition {
  /** The property of a user that it is sent as, in snake_case; unique. */
  trait: string;
  /** The name that the application gave it. */
  name: string;
  kind: AudienceKind;
  /** Name of the source of its latest calls. */
  source?: string;
  /** Names of the other sources that it had calls of, each once. A deletion from one of them is for it as well. */
  earlierSources?: string[];
}

/** A user and a short text that stands for the user's value. Texts are equal if the values are. */
export interface AudienceEntry {
  userId: string;
  /** Never empty. `true` for every member of an audience. */
  value: string;
}

/** A sync holds `sync` from its beginning to its end. Every change holds `change` for each single step. */
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
  /** How many users are already recorded with this value and were not offered before in this generation. */
  unchanged: number;
}

/** One page of a long list of users. */
export interface UserPage {
  userIds: string[];
  /** Where the next page begins, for the same call; `undefined` after the last one. */
  next: string | undefined;
}

/**
 * Where membership is stored. Each call is atomic.
 *
 * A change takes two calls, with the sending in between: `offer` or `withdraw` first puts the user in doubt.
 * Once the message is in the queue, `settle` records it. If a process dies in between, or the message is refused, the
 * user stays in doubt, and the next change sends the current value, whatever is recorded: nobody knows what was sent.
 * `withdraw` and `settle` without a message in between remove a user who was deleted.
 *
 * Methods that take an `AudienceHold` reject with `AudienceLockLostError`, and do nothing, if the lock is no
 * longer held under that token.
 */
export interface AudienceStore {
  /**
   * Stores a definition unless its trait is taken. If the stored one has the same name and kind, it gets the
   * `source` of this one, and the source that it had goes to its `earlierSources`. Resolves to the stored one.
   */
  register(definition: AudienceDefinition): Promise<AudienceDefinition>;
  find(trait: string): Promise<AudienceDefinition | undefined>;
  list(): Promise<AudienceDefinition[]>;

  /** Takes a lock for some milliseconds. If another token holds it, marks it as wanted instead. */
  lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /** Extends a lock; `false` if it is no longer held under this token. */
  renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /**
   * Releases a lock if it is held under this token. Resolves to whether another process recently wanted it.
   */
  unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean>;

  /** Begins a new generation, in which no user has been seen yet. */
  advance(hold: AudienceHold): Promise<void>;
  /** Marks users as seen in this generation, and puts in doubt those who are not recorded with this value. */
  offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult>;
  /** Puts users in doubt who are to leave. Resolves to those who are recorded or were in doubt. */
  withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]>;
  /**
   * As `withdraw`, for some of the users not yet seen in this generation, also those who are only in doubt. A page may be
   * empty. The next one has none of the users of this one, even if they were not settled.
   */
  withdrawUnseen(hold: AudienceHold, limit: number, from: string | undefined): Promise<UserPage>;
  /** Records the values that users were put in doubt with, and ends the doubt. */
  settle(hold: AudienceHold, userIds: readonly string[]): Promise<void>;

  /** Recorded users, in no particular order. A page may be empty or somewhat larger than the limit. */
  members(trait: string, limit: number, from: string | undefined): Promise<UserPage>;
  /** Deletes an audience and all of its users. */
  drop(hold: AudienceHold): Promise<void>;
}

/** The methods of a store, to recognise a valid one. */
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
