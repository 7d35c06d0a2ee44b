import { types } from 'node:util';
import { isConnectionFailure } from './connection-failure.js';

/** Where the state of the queue is told to. */
export interface QueueHealthLog {
  warn(message: string): void;
  log(message: string): void;
}

/**
 * Knows whether the queue can be reached, and tells it once when that changes: a queue that is down
 * makes every command fail, and one line says as much as thousands.
 */
export class QueueHealth {
  private downSince: number | undefined;
  private readonly reported = new Set<string>();

  constructor(
    /** The queue's place, without anything secret: `Redis`, `PostgreSQL`. */
    private readonly place: string,
    private readonly logger: QueueHealthLog,
  ) {}

  get isUp(): boolean {
    return this.downSince === undefined;
  }

  down(error: unknown): void {
    if (this.downSince !== undefined) return;
    this.downSince = Date.now();
    this.logger.warn(
      `The queue on ${this.place} cannot be reached (${reason(error)}). Messages are kept in memory, up to ` +
        `\`maxBufferedBytes\`, and delivery resumes by itself when it is back. Check \`connection\` and the server.`,
    );
  }

  /**
   * What BullMQ tells of itself. A lost connection is known already, from the client that lost it; all
   * else is told once, whichever job it is about.
   */
  report(error: Error): void {
    const kind = error.message.replace(/\bjob \S+/g, 'job');
    if (isConnectionFailure(error) || this.reported.has(kind)) return;
    this.reported.add(kind);
    this.logger.warn(`The queue on ${this.place} reports: ${error.message}`);
  }

  /**
   * @param askedAt when what the queue answered was asked, in milliseconds since the epoch: an answer that
   *   was on its way when the queue went down does not mean that it is back
   */
  up(askedAt = Infinity): void {
    if (this.downSince === undefined || askedAt <= this.downSince) return;
    const seconds = Math.round((Date.now() - this.downSince) / 1000);
    this.downSince = undefined;
    this.logger.log(`The queue on ${this.place} is back after ${seconds} s.`);
  }
}

/** The code of an error where it has one: texts of drivers name hosts and users. */
function reason(error: unknown): string {
  if (!types.isNativeError(error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
