import type { PgQueryResult } from 'bullmq';
import type { Durability } from '../../options/resolved-options.js';

/** The only session of an embedded database. It runs its statements one after the other. */
export interface DatabaseEngine {
  /**
   * Runs a statement after all that were given before; without parameters it may be several.
   *
   * @param isDurable whether it resolves only once what it committed is as durable as it is meant to be; what
   *   is not waited for is durable soon after. @default true
   * @throws EmbeddedQueueBrokenError if the database crashes, or has crashed before.
   */
  query<R>(text: string, params?: readonly unknown[], isDurable?: boolean): Promise<PgQueryResult<R>>;
  onNotification(listener: (channel: string, payload: string) => void): void;
  /** Closes the database after the statements that were given before. */
  close(): Promise<void>;
  /** Ends it in the middle of whatever it does, as a crash would. Absent where it runs in the application's own thread. */
  breakOff?(): Promise<void>;
}

/** What is needed to open an embedded database. */
export interface DatabaseFiles {
  /** Folder of its files, or `memory://`. */
  path: string;
  /** Whether what was committed survives a power cut, or only a crash of the process. */
  durability: Durability;
  /** Whether the database is made now. Nothing was acknowledged yet, so its files are synced once, when it is open. */
  isNew: boolean;
  /** What a new database begins with. Without it, initdb makes one, unless its files are there. */
  template?: Blob | undefined;
  /** The compiled WebAssembly of PGlite. @default PGlite compiles it */
  module?: object | undefined;
}
