import { AnalyticsError } from './analytics.error.js';

/** The folder of the embedded queue is already open, in another process or a second time in this one. */
export class EmbeddedQueueLockedError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_LOCKED';

  constructor(
    /** Absolute path of the folder. */
    readonly dataDir: string,
    /** Process that holds it, where that can be told. */
    readonly pid: number | undefined,
  ) {
    super(
      `The embedded queue in ${dataDir} is already open in ${ownerName(pid)}, and only one at a time can ` +
        `use it. Stop the other one, give this one a folder of its own ` +
        `(\`connection: { embedded: { dataDir } }\`), or share a queue on Redis or PostgreSQL ` +
        `(\`connection: 'redis://…'\` or \`'postgres://…'\`).`,
    );
  }
}

function ownerName(pid: number | undefined): string {
  if (pid === undefined) return 'another process';
  return pid === process.pid ? `this process (${pid})` : `process ${pid}`;
}
