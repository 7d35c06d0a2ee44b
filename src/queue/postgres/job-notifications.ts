import type { PgNotification, PostgresConnection } from 'bullmq';
import { timerDelay } from '../../shared/clock.js';

/** BullMQ names a queue here when it has got a job, when a job is delayed, and when the queue is resumed. */
const CHANNEL = 'bullmq_jobs';
/** How long a worker that has looked in vain leaves the next job to the others at most, in milliseconds. */
const LONGEST_HESITATION = 50;

/**
 * Tells a worker when to look for a job. BullMQ asks the database twice each time that a worker begins to wait, since
 * it hears no notification before that. This class hears all of them, so it knows that there has been none since the
 * last look.
 *
 * PostgreSQL notifies all workers of a job, and one of them gets it. A worker that has looked in vain looks a little
 * later after the next notification, so that one look of it serves several.
 */
export class JobNotifications {
  private listening: Promise<void> | undefined;
  private isInterrupted = false;
  /** Whether the last look to begin found no job, and none has been announced since it began. */
  private isEmpty = false;
  private lastLook: symbol | undefined;
  /** Whether a notification, of a job that this worker did not put back itself, is the reason for the next look. */
  private isNotified = false;
  private hasPutBack = false;
  /** Notifications in a row after which another worker had taken the job. */
  private inVain = 0;
  private hesitation: NodeJS.Timeout | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly connection: Pick<PostgresConnection, 'getListenClient' | 'on'>,
    private readonly queueName: string,
  ) {
    connection.on('listenerinvalidated', () => {
      this.listening = undefined;
      this.nothingIsKnown();
      this.wake?.();
    });
  }

  /** Runs a look for a job. */
  async look<T>(find: () => Promise<T>, hasFound: (found: T) => boolean): Promise<T> {
    const look = Symbol('look');
    const { isNotified } = this;
    this.nothingIsKnown();
    this.lastLook = look;
    this.isNotified = false;
    const found = await find();
    if (hasFound(found)) this.inVain = 0;
    else {
      this.isEmpty = this.lastLook === look;
      if (isNotified) this.inVain++;
    }
    return found;
  }

  /** The worker puts a job back, which is going to be announced as well. */
  putsBack(): void {
    this.hasPutBack = true;
  }

  /** Resolves when it is time to look: at once, unless there was no job a moment ago. */
  async wait(milliseconds: number): Promise<void> {
    await (this.listening ??= this.listen());
    if (this.isInterrupted || !this.isEmpty) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.wake?.(), timerDelay(milliseconds));
      this.wake = () => {
        clearTimeout(timer);
        clearTimeout(this.hesitation);
        this.hesitation = undefined;
        this.wake = undefined;
        resolve();
      };
    });
  }

  /** Ends a wait, and any that begins before `resume`. */
  interrupt(): void {
    this.isInterrupted = true;
    this.wake?.();
  }

  resume(): void {
    this.isInterrupted = false;
  }

  private async listen(): Promise<void> {
    try {
      const client = await this.connection.getListenClient();
      client.on('notification', (notification) => {
        this.hear(notification);
      });
      await client.query(`LISTEN ${CHANNEL}`);
      // There may have been notifications before.
      this.nothingIsKnown();
    } catch (error) {
      this.listening = undefined;
      throw error;
    }
  }

  private hear({ channel, payload }: PgNotification): void {
    if (channel !== CHANNEL || payload !== this.queueName) return;
    this.nothingIsKnown();
    this.isNotified = !this.hasPutBack;
    this.hasPutBack = false;
    if (this.wake === undefined || this.hesitation !== undefined) return;
    if (this.inVain === 0) this.wake();
    else this.hesitation = setTimeout(this.wake, Math.min(2 ** this.inVain, LONGEST_HESITATION));
  }

  private nothingIsKnown(): void {
    this.isEmpty = false;
    this.lastLook = undefined;
  }
}
