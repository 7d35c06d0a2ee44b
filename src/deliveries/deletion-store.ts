/** How long a deletion is remembered, in milliseconds. Older messages may be retried for this long. */
export const DELETION_MEMORY = 7 * 24 * 60 * 60 * 1_000;

/** A user who was deleted. */
export interface Deletion {
  /** Stands for the user's id and for what the deletion is for; see `deletionKey`. */
  key: string;
  /** When the user was deleted, in milliseconds since the epoch. */
  at: number;
  /**
   * What is needed to carry the deletion out, in one line. It is dropped once that is done. If the user was deleted
   * several times before that, each task of the key has a line.
   */
  task: string;
}

/**
 * Stores deletions beside the queue for all processes: who was deleted, and which deletions still have to be
 * carried out.
 */
export interface DeletionStore {
  /**
   * An earlier deletion than the one that is known by the same key counts as made at the same time as that. A task that
   * another process has stored and that is not carried out yet stays beside the new one.
   */
  add(deletions: readonly Deletion[]): Promise<void>;
  /** When users were deleted, by the deletion's key. Keys of no deletion are left out. */
  find(keys: readonly string[]): Promise<Map<string, number>>;
  /** Some of the deletions that still have to be carried out, about this many; none only if none is left. */
  pending(limit: number): Promise<Deletion[]>;
  /**
   * All of them, in pages of about this many, whether or not they are done meanwhile. No page is empty. One that is
   * added meanwhile may be left out, and one may be there twice.
   */
  pages(limit: number): AsyncIterable<Deletion[]>;
  /** Marks deletions as carried out. One that was added again meanwhile stays. */
  done(deletions: readonly Deletion[]): Promise<void>;
}
