/** How long a deletion is remembered, in milliseconds. Older messages may be retried for this long. */
export const DELETION_MEMORY = 7 * 24 * 60 * 60 * 1_000;

/** A user who was deleted. */
export interface Deletion {
  /** Stands for the user's id and the reach of the deletion; see `deletionKey`. */
  key: string;
  /** When the user was deleted, in milliseconds since the epoch. */
  at: number;
  /**
   * Data needed to carry out the deletion, in one line. The data is dropped once that is done. If the user is deleted
   * several times before that, each different task of the key has a line.
   */
  task: string;
}

/**
 * Stores deletions beside the queue for all processes: who was deleted, and which deletions still have to be
 * carried out.
 */
export interface DeletionStore {
  /**
   * Adds deletions. If a later deletion with the same key is stored, the new one gets the time of that deletion. A task
   * that another process has stored and that is not carried out yet is kept beside the new one.
   */
  add(deletions: readonly Deletion[]): Promise<void>;
  /** Resolves to the times of deletions, by their keys. Keys without a deletion are left out. */
  find(keys: readonly string[]): Promise<Map<string, number>>;
  /** Resolves to about this many deletions that still have to be carried out; to none only if none is left. */
  pending(limit: number): Promise<Deletion[]>;
  /**
   * Yields all deletions that still have to be carried out, in pages of about this many, even if some are done
   * meanwhile. No page is empty. A deletion that is added meanwhile may be left out. Any deletion may appear twice.
   */
  pages(limit: number): AsyncIterable<Deletion[]>;
  /** Marks deletions as carried out, except those that were added again meanwhile. */
  done(deletions: readonly Deletion[]): Promise<void>;
}
