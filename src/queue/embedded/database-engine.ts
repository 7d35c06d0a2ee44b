import type { PgQueryResult } from 'bullmq';
import type { Durability } from '../../options/resolved-options.js';

/** The only session of an embedded database. It runs its statements one after the other. */
export interface DatabaseEngine {
  /**
   * Runs a statement after all earlier ones. Without parameters, `text` may contain several statements.
   *
   * @param isDurable whether the promise resolves only once the commit is as durable as configured. Otherwise the
   *   commit becomes durable soon after. @default true
   * @throws EmbeddedQueueBrokenError if the database crashes, or has crashed before.
   */
  query<R>(text: string, params?: readonly unknown[], isDurable?: boolean): Promise<PgQueryResult<R>>;
  onNotification(listener: (channel: string, payload: string) => void): void;
  /** Closes the database after all earlier statements. */
  close(): Promise<void>;
  /** Ends the database at once, as a crash would. Absent if the database runs in the application's own thread. */
  breakOff?(): Promise<void>;
}

/** What is needed to open an embedded database. */
export interface DatabaseFiles {
  /** Folder of the database's files, or `memory://`. */
  path: string;
  /** Whether commits survive a power cut, or only a crash of the process. */
  durability: Durability;
  /** Whether the database is new. Nothing is acknowledged yet, so its files are synced once, when it is open. */
  isNew: boolean;
  /** Template of a new database. Without a template, initdb creates the files if they do not exist. */
  template?: Blob | undefined;
  /** The compiled WebAssembly of PGlite. @default PGlite compiles it */
  module?: object | undefined;
}
