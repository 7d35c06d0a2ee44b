import type { UrlOutcome } from '../../../queue/batch-job.js';
import type { EntryHead, StoredEntry } from '../history-store.js';

/** An entry as texts. Later attempts of its message are added, and its head is replaced. */
export interface EntryTexts {
  head: string;
  attempts: string[];
}

export function textsOf({ head, attempts }: StoredEntry): EntryTexts {
  return { head: JSON.stringify(head), attempts: attempts.map((attempt) => JSON.stringify(attempt)) };
}

/** Reads texts that `textsOf` has made. */
export function entryOf(
  messageId: string,
  ordinal: number,
  head: string,
  attempts: readonly string[],
): StoredEntry {
  return {
    messageId,
    ordinal,
    // Only the stores write these texts.
    head: JSON.parse(head) as EntryHead,
    attempts: attempts.map((attempt) => JSON.parse(attempt) as UrlOutcome),
  };
}
