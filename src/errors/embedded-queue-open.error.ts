import { AnalyticsError } from './analytics.error.js';

/** The embedded queue's folder cannot be opened: no permission, a full disk, files of another PostgreSQL. */
export class EmbeddedQueueOpenError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_OPEN_FAILED';

  constructor(
    /** Absolute path of the folder, or `memory://`. */
    readonly dataDir: string,
    /** What the database itself said, where it said something. */
    reason: string | undefined,
    options?: ErrorOptions,
  ) {
    super(
      `The embedded queue in ${dataDir} cannot be opened${reason ? ` (${reason})` : ''}. Check that the folder ` +
        `is writable and its disk has room. If it was written by another version of ` +
        `@electric-sql/pglite, go back to that one, or move the folder away to begin with an empty queue.`,
      options,
    );
  }
}
