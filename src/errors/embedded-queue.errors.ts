import { AnalyticsError } from './analytics.error.js';

/** Matches what V8, Node and PostgreSQL say when there is no memory left. */
const NO_MEMORY = /(could not|cannot) allocate memory|out of memory|\bENOMEM\b|allocation failed/i;

/** Matches what Node and PostgreSQL say when the process or the system has no file handle left (`EMFILE`, `ENFILE`). */
const NO_HANDLE = /no file descriptors available|too many open files|\b(EMFILE|ENFILE)\b/i;

/** PostgreSQL's code for a page that it cannot read. */
const DAMAGED = 'XX001';

const RAISE_HANDLES =
  'Raise the limit of open files (`ulimit -n`), or look for files and sockets that the process does not close.';

const CHECK_FOLDER =
  `Check that the folder is writable and its disk has room. If it was written by another version of ` +
  `@electric-sql/pglite, go back to that one, or move the folder away to begin with an empty queue.`;

const MORE_MEMORY =
  `Give the process more memory. If its address space is limited (\`ulimit -v\`), lift that limit, or start ` +
  `Node with \`--disable-wasm-trap-handler\`, which reserves far less of it.`;

/** Whether an error of Node or of PostgreSQL means that there was no file handle left. */
function lacksHandle(error: unknown): boolean {
  return NO_HANDLE.test(messageOf(error) ?? '');
}

/**
 * Returns the message of an error, or `undefined` if it has none. An error from a thread may be neither a native error
 * nor an instance of `Error`.
 */
export function messageOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : undefined;
}

/** Returns PostgreSQL's code of an error, if it has one. As above, the error may not be a native error. */
export function sqlStateOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/**
 * The embedded queue's folder cannot be opened: no permission, a full disk, files of another PostgreSQL, no memory, no
 * file handle.
 */
export class EmbeddedQueueOpenError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_OPEN_FAILED';

  constructor(
    /** Absolute path of the folder, or `memory://`. */
    readonly dataDir: string,
    /** The message of the database, or of what kept it from starting, if there is one. */
    readonly reason: string | undefined,
    options?: ErrorOptions,
  ) {
    super(
      `The embedded queue in ${dataDir} cannot be opened${reason ? ` (${reason})` : ''}. ` +
        whatToCheck(reason ?? ''),
      options,
    );
  }
}

function whatToCheck(reason: string): string {
  if (NO_MEMORY.test(reason)) return MORE_MEMORY;
  return NO_HANDLE.test(reason) ? RAISE_HANDLES : CHECK_FOLDER;
}

/** The folder of the embedded queue is already open, in another process or a second time in this one. */
export class EmbeddedQueueLockedError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_LOCKED';

  constructor(
    /** Absolute path of the folder. */
    readonly dataDir: string,
    /** Id of the process that holds the folder, if known. An id from another container would mean nothing here. */
    readonly pid: number | undefined,
  ) {
    super(
      `The embedded queue in ${dataDir} is already open in ${ownerName(pid)}, and only one at a time can ` +
        `use it. Stop the other one, give this one a folder of its own ` +
        `(\`connection: { embedded: { dataDir } }\`), or share a queue on Redis or PostgreSQL ` +
        `(\`connection: 'redis://…'\` or \`'postgres://…'\`).${pid === process.pid ? AFTER_A_FAILED_START : ''}`,
    );
  }
}

/** Nest does not tell a module that a start has failed, so that the module could close the folder. */
const AFTER_A_FAILED_START =
  ' If an earlier start in this process has failed, call `app.close()`, or try again in a new process.';

function ownerName(pid: number | undefined): string {
  if (pid === undefined) return 'another process';
  return pid === process.pid ? `this process (${pid})` : `process ${pid}`;
}

/**
 * The embedded database or its thread crashed, or its folder was removed. The database takes no more statements until
 * it is opened again.
 */
export class EmbeddedQueueBrokenError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_BROKEN';
  /** The folder, if it was removed. */
  readonly removed: string | undefined;
  /** Whether it crashed because the process had no file handle left. */
  readonly hadNoHandle: boolean;

  constructor({ removed, ...options }: ErrorOptions & { removed?: string | undefined } = {}) {
    const hadNoHandle = lacksHandle(options.cause);
    super(removed === undefined ? whyItCrashed(hadNoHandle) : whereFolderWas(removed), options);
    this.removed = removed;
    this.hadNoHandle = hadNoHandle;
  }
}

function whyItCrashed(hadNoHandle: boolean): string {
  return hadNoHandle
    ? `The embedded queue's database crashed: the process had no file handle left. ${RAISE_HANDLES} Then restart the ` +
        `process: everything that was acknowledged is still there.`
    : `The embedded queue's database crashed, most often because its disk is full or the process is out of ` +
        `memory. Make room and restart the process: everything that was acknowledged is still there.`;
}

function whereFolderWas(removed: string): string {
  return (
    `The embedded queue's folder ${removed} was removed or replaced while the process used it, with ` +
    `everything that was queued in it. Restart the process: it creates a new folder, or opens the one that was put back.`
  );
}

/** The embedded database did not close within the time that a shutdown has for it. */
export class EmbeddedQueueUnclosedError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_UNCLOSED';

  constructor() {
    super(
      `The embedded queue's database did not close in time: a statement or its disk is holding it up. It was aborted, ` +
        `as in a crash: everything that was acknowledged is still there at the next start.`,
    );
  }
}

/**
 * Maintenance of the embedded database failed. The next round tries again, and no job is harmed, unless the cause names
 * a damaged page (`XX001`).
 */
export class EmbeddedQueueUpkeepError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_UPKEEP_FAILED';

  constructor(options?: ErrorOptions) {
    super(
      `The embedded queue's database could not be cleaned up; its folder grows until that works again. ` +
        whatKeepsIt(options?.cause),
      options,
    );
  }
}

function whatKeepsIt(cause: unknown): string {
  if (sqlStateOf(cause) === DAMAGED)
    return 'One of its pages is damaged. Stop the process, and put back a copy of its folder.';
  return lacksHandle(cause) ? RAISE_HANDLES : 'Check the free space on its disk.';
}

/** The embedded queue cannot lock its folder here: there is no build of `fs-native-extensions` for the platform. */
export class EmbeddedQueuePlatformError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_PLATFORM';
  /** The platform, such as `linux-x64`. */
  readonly platform = `${process.platform}-${process.arch}`;

  constructor(options?: ErrorOptions) {
    super(
      `The embedded queue does not run on ${process.platform}-${process.arch} as it is set up here: ` +
        `fs-native-extensions, which locks its folder, cannot be loaded. Set \`connection\` to a Redis or a ` +
        `PostgreSQL. On Linux, use an image with glibc such as node:24-slim rather than Alpine; in a bundle, leave ` +
        `fs-native-extensions and @electric-sql/pglite outside of it.`,
      options,
    );
  }
}

/** The embedded database runs in the application's own thread, since the code for a thread of its own is missing. */
export class EmbeddedQueueThreadError extends AnalyticsError {
  readonly code = 'EMBEDDED_QUEUE_MAIN_THREAD';

  constructor(
    /** Where the code was looked for. */
    readonly path: string,
  ) {
    super(
      `The embedded queue's database runs in the application's main thread, and requests wait while it works: ` +
        `${path} is not there, as when the package was bundled. Leave nestjs-analytics out of the bundle ` +
        `(\`external\`), or use a queue on Redis or PostgreSQL.`,
    );
  }
}
