/** `audience`: a set of users. `trait`: a value for each of some users. */
export type AudienceKind = 'audience' | 'trait';

/** What a store knows an audience or a computed trait by. */
export interface AudienceDefinition {
  /** The property of a user that it is sent as, in snake_case; unique. */
  trait: string;
  /** The name that it was given. */
  name: string;
  kind: AudienceKind;
}

/** A user and a short text that stands for the user's value; texts are equal when the values are. */
export interface AudienceEntry {
  userId: string;
  /** Never empty. `true` for every member of an audience. */
  value: string;
}

/** `sync` is held by a sync from its beginning to its end, `change` by everyone for each single step. */
export type AudienceLockKind = 'sync' | 'change';

/** The right to change an audience: the `change` lock, held under this token. */
export interface AudienceHold {
  trait: string;
  token: string;
}

/** What offered entries come to. */
export interface OfferResult {
  /** Users who are new or whose value differs, and those who were in doubt already. */
  changed: string[];
  /** How many are recorded just so, and were not offered before in this generation. */
  unchanged: number;
}

/** A part of many users. */
export interface UserPage {
  userIds: string[];
  /** Where the next part begins, for the same call; `undefined` after the last one. */
  next: string | undefined;
}

/**
 * Where membership is kept. Each call is atomic by itself.
 *
 * A change takes two of them, with the sending in between: first the user is put in doubt (`offer`,
 * `withdraw`), then, when the call is in the queue, `settle` records what was said. Where a process dies
 * in between the doubt stays, and whoever comes next says how it is, whatever is recorded: nobody knows
 * what was sent.
 *
 * What takes an `AudienceHold` rejects with `AudienceLockLostError`, and does nothing, when the lock is
 * not held under that token any more.
 */
export interface AudienceStore {
  /** Keeps a definition unless its trait is taken. Resolves to the one that is kept. */
  register(definition: AudienceDefinition): Promise<AudienceDefinition>;
  find(trait: string): Promise<AudienceDefinition | undefined>;
  list(): Promise<AudienceDefinition[]>;

  /** Takes a lock for some milliseconds, unless another token holds it: then it is marked as wanted. */
  lock(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /** Holds a lock for longer; `false` when it is not held under this token any more. */
  renew(trait: string, kind: AudienceLockKind, token: string, duration: number): Promise<boolean>;
  /** Gives a lock free, if it is held under this token. Resolves to whether it was wanted of late. */
  unlock(trait: string, kind: AudienceLockKind, token: string): Promise<boolean>;

  /** Begins a new generation, in which no user has been seen yet. */
  advance(hold: AudienceHold): Promise<void>;
  /** Marks users as seen in this generation, and puts those in doubt who are not recorded just so. */
  offer(hold: AudienceHold, entries: readonly AudienceEntry[]): Promise<OfferResult>;
  /** Puts users in doubt who are to leave. Resolves to those who are recorded or were in doubt. */
  withdraw(hold: AudienceHold, userIds: readonly string[]): Promise<string[]>;
  /** As `withdraw`, for some of those who have not been seen in this generation. */
  withdrawUnseen(hold: AudienceHold, limit: number, from: string | undefined): Promise<UserPage>;
  /** Records what users were put in doubt with, and ends the doubt. */
  settle(hold: AudienceHold, userIds: readonly string[]): Promise<void>;

  /** Recorded users, in no particular order. A page may be empty or somewhat larger than the limit. */
  members(trait: string, limit: number, from: string | undefined): Promise<UserPage>;
  /** Forgets an audience and all of its users. */
  drop(hold: AudienceHold): Promise<void>;
}

/** The methods of a store, to tell one that was given from something else. */
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
