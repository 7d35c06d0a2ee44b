import type { Integrations } from '../messages/message.types.js';

/** Options of a change of an audience. */
export interface AudienceCallOptions {
  /** Name of the source that the calls come from. @default the module's `audiences.source`, else the first source */
  source?: string | undefined;
  /** Which destinations get the calls. @default the module's `audiences.integrations`, else all */
  integrations?: Integrations | undefined;
  /** The longest to wait for another one that is changing the same audience, in milliseconds. @default 30000 */
  wait?: number | undefined;
}

export interface AudienceDeleteOptions extends AudienceCallOptions {
  /** Whether its users are told before it is forgotten. @default true */
  notify?: boolean | undefined;
}

/** What a sync of an audience came to, or has come to so far, in users. */
export interface AudienceSyncResult {
  /** Were sent `true`. */
  added: number;
  /** Were sent `false`. */
  removed: number;
  unchanged: number;
}

export interface AudienceSyncOptions extends AudienceCallOptions {
  /** Told after each step of at most a thousand users. If it throws, the sync ends with that error. */
  onProgress?: ((soFar: AudienceSyncResult) => void) | undefined;
}

/** What a sync of a computed trait came to, or has come to so far, in users. */
export interface TraitSyncResult {
  /** Were sent a value that they did not have before. */
  changed: number;
  /** Were sent `null`. */
  removed: number;
  unchanged: number;
}

export interface TraitSyncOptions extends AudienceCallOptions {
  /** Told after each step of at most a thousand users. If it throws, the sync ends with that error. */
  onProgress?: ((soFar: TraitSyncResult) => void) | undefined;
}
