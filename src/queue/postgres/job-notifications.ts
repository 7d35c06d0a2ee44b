import type { PgNotification, PostgresConnection } from 'bullmq';
import { timerDelay } from '../../shared/clock.js';

/** Channel on which BullMQ names a queue that gets a job, in which a job is delayed, or that is resumed. */
const CHANNEL = 'bullmq_jobs';
/** Maximum milliseconds for which a worker that looked in vain leaves the next job to other workers. */
const LONGEST_HESITATION = 50;

/**
 * Tells a worker when to look for a job. BullMQ queries the database twice each time a worker begins to wait, since it
 * misses earlier notifications. This class receives all notifications, so it knows whether there has been one since the
 * last look. A job that comes back without a notification, because its transaction was rolled back, is found when the
 * wait is over.
 *
 * PostgreSQL notifies all workers of a job, and one of them gets it. After a look in vain, a worker looks a little
 * later after the next notification, so that one look serves several notifications.
 */
export class JobNotifications {
  private listening: Promise<void> | undefined;
  private isInterrupted = false;
  private lastLook: symbol | undefined;
  /** Whether the look that began last found no job, and no job has been announced since it began. */
  private isEmpty = false;
  /** When the next delayed job is due, in milliseconds since the epoch. `Infinity` if that look did not find out. */
  private dueAt = Infinity;
  /** Whether the next look follows a notification, other than that of a job which this worker has put back. */
  private isNotified = false;
  /** Consecutive notifications after which there was no job. */
  private inVain = 0;
  /** Jobs that this worker puts back and whose notification has not arrived yet. */
  private putBacks = 0;
  private hesitating: NodeJS.Timeout | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly connection: Pick<PostgresConnection, 'getListenClient' | 'on'>,
    private readonly queueName: string,
  ) {
    connection.on('listenerinvalidated', () => {
      this.listening = undefined;
      this.putBacks = 0;
      this.nothingIsKnown();
      this.wake?.();
    });
  }

  /** @param look looks for a job, and resolves to the result of BullMQ's `moveToActive` */
  async look(look: () => Promise<unknown[]>): Promise<unknown[]> {
    const id = Symbol('look');
    const { isNotified } = this;
    this.nothingIsKnown();
    this.lastLook = id;
    this.isNotified = false;
    const found = await look();
    const [job, , , dueAt] = found;
    if (job !== null) {
      this.inVain = 0;
      return found;
    }
    if (isNotified) this.inVain++;
    if (this.lastLook === id) {
      this.isEmpty = true;
      this.dueAt = Number(dueAt) || Infinity;
    }
    return found;
  }

  /** Puts a job back, which BullMQ announces like any other. */
  async putBack<T>(move: () => Promise<T>): Promise<T> {
    this.putBacks++;
    try {
      return await move();
    } catch (error) {
      this.heardOfPutBack();
      throw error;
    }
  }

  /**
   * Resolves when it is time to look: at once, unless the last look found nothing. After looks in vain, leaves a job to
   * other workers for a moment.
   */
  async wait(milliseconds: number): Promise<void> {
    await (this.listening ??= this.listen());
    const { isEmpty, hesitation } = this;
    if (this.isInterrupted || (!isEmpty && hesitation === 0)) return;
    await new Promise<void>((resolve) => {
      const delay = isEmpty ? Math.min(milliseconds, this.dueAt - Date.now()) : hesitation;
      const timer = setTimeout(() => this.wake?.(), timerDelay(delay));
      if (!isEmpty) this.hesitating = timer;
      this.wake = () => {
        clearTimeout(timer);
        clearTimeout(this.hesitating);
        this.hesitating = undefined;
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
    this.nothingIsKnown();
  }

  private async listen(): Promise<void> {
    try {
      const client = await this.connection.getListenClient();
      await client.query(`LISTEN ${CHANNEL}`);
      client.on('notification', (notification) => {
        this.hear(notification);
      });
      // Notifications before the LISTEN were missed.
      this.nothingIsKnown();
    } catch (error) {
      this.listening = undefined;
      throw error;
    }
  }

  private hear({ channel, payload }: PgNotification): void {
    if (channel !== CHANNEL || payload !== this.queueName) return;
    this.nothingIsKnown();
    if (!this.heardOfPutBack()) this.isNotified = true;
    if (this.wake === undefined || this.hesitating !== undefined) return;
    const { hesitation } = this;
    if (hesitation === 0) this.wake();
    else this.hesitating = setTimeout(this.wake, hesitation);
  }

  /** Milliseconds for which a job is left to other workers. */
  private get hesitation(): number {
    return this.isNotified && this.inVain > 0 ? Math.min(2 ** this.inVain, LONGEST_HESITATION) : 0;
  }

  /** Counts off a job that this worker has put back. Returns whether there was one. */
  private heardOfPutBack(): boolean {
    if (this.putBacks === 0) return false;
    this.putBacks--;
    return true;
  }

  private nothingIsKnown(): void {
    this.isEmpty = false;
    this.dueAt = Infinity;
    this.lastLook = undefined;
  }
}
