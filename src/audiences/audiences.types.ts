import type { Integrations } from '../messages/message.types.js';

/** Options of a change of an audience. */
export interface AudienceCallOptions {
  /** Name of the source that the calls come from. @default the module's `audiences.source`, else the first source */
  source?: string | undefined;
  /** Which destinations get the calls. @default the module's `audiences.integrations`, else all */
  integrations?: Integrations | undefined;
  /**
   * The longest wait for other changes of the same audience, in this process and in others, in milliseconds
   * from the call: `sync`, `syncTrait` and `delete` wait for one another, `add` and `remove` for single steps.
   *
   * @default 30000
   */
  wait?: number | undefined;
}

/** Options of `delete` of `AudiencesService`. */
export interface AudienceDeleteOptions extends AudienceCallOptions {
  /** Whether its users are sent `false` or `null` before it is deleted. @default true */
  notify?: boolean | undefined;
}

/** The result of an audience sync, or its progress so far, in users. */
export interface AudienceSyncResult {
  /** Users who were sent `true`. */
  added: number;
  /** Users who were sent `false`. */
  removed: number;
  unchanged: number;
}

/** Options of `sync`. */
export interface AudienceSyncOptions extends AudienceCallOptions {
  /**
   * Called after each step of at most a thousand users, and awaited. If it throws, or its promise rejects, the sync ends
   * with that error.
   */
  onProgress?: ((soFar: AudienceSyncResult) => unknown) | undefined;
}

/** The result of a computed trait sync, or its progress so far, in users. */
export interface TraitSyncResult {
  /** Users who were sent a new value. */
  changed: number;
  /** Users who were sent `null`. */
  removed: number;
  unchanged: number;
}

/** Options of `syncTrait`. */
export interface TraitSyncOptions extends AudienceCallOptions {
  /**
   * Called after each step of at most a thousand users, and awaited. If it throws, or its promise rejects, the sync ends
   * with that error.
   */
  onProgress?: ((soFar: TraitSyncResult) => unknown) | undefined;
}
