import type { Integrations } from '../messages/message.types.js';

/** Options of a change of an audience. */
export interface AudienceCallOptions {
  /** Name of the source that the calls come from. @default the module's `audiences.source`, else the first source */
  source?: string | undefined;
  /** Which destinations get the calls. @default the module's `audiences.integrations`, else all */
  integrations?: Integrations | undefined;
  /**
   * Longest wait for other changes of the same audience, in this process and in others, in milliseconds from
   * the call. `sync`, `syncTrait` and `delete` wait for each other. `add` and `remove` wait for single steps.
   *
   * @default 30000
   */
  wait?: number | undefined;
}

/** Options of `AudiencesService.delete`. */
export interface AudienceDeleteOptions extends AudienceCallOptions {
  /** Whether `false` or `null` is sent for each user before the deletion. @default true */
  notify?: boolean | undefined;
}

/** The result of an audience sync, or its progress so far, in users. */
export interface AudienceSyncResult {
  /** Users for whom `true` was sent. */
  added: number;
  /** Users for whom `false` was sent. */
  removed: number;
  unchanged: number;
}

/** Options of `sync`. */
export interface AudienceSyncOptions extends AudienceCallOptions {
  /**
   * Called after each step of at most a thousand users, and awaited. If it throws, or its promise rejects, the sync
   * ends with that error.
   */
  onProgress?: ((soFar: AudienceSyncResult) => unknown) | undefined;
}

/** The result of a computed trait sync, or its progress so far, in users. */
export interface TraitSyncResult {
  /** Users for whom a new value was sent. */
  changed: number;
  /** Users for whom `null` was sent. */
  removed: number;
  unchanged: number;
}

/** Options of `syncTrait`. */
export interface TraitSyncOptions extends AudienceCallOptions {
  /**
   * Called after each step of at most a thousand users, and awaited. If it throws, or its promise rejects, the sync
   * ends with that error.
   */
  onProgress?: ((soFar: TraitSyncResult) => unknown) | undefined;
}
