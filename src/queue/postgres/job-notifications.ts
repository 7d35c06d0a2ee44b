import type { PgNotification, PostgresConnection } from 'bullmq';
import { timerDelay } from '../../shared/clock.js';

/** BullMQ names a queue here when it has got a job, when a job is delayed, and when the queue is resumed. */
const CHANNEL = 'bullmq_jobs';
/** How long a worker that has looked in vain leaves the next job to the others at most, in milliseconds. */
const LONGEST_HESITATION = 50;

/**
 * Tells a worker when to look for a job. BullMQ asks the database twice each time that a worker begins to wait, since
 * it hears no notification before that. This class hears all of them, so it knows that there has been none since the
 * last look. A job that was taken and comes back without a notification, because the transaction was rolled back, is
 * found when the wait is over.
 *
 * PostgreSQL notifies all workers of a job, and one of them gets it. A worker that has looked in vain looks a little
 * later after the next notification, so that one look of it serves several.
 */
export class JobNotifications {
  private listening: Promise<void> | undefined;
  private isInterrupted = false;
  private lastLook: symbol | undefined;
  /** Whether the last look to begin found no job, and none has been announced since it began. */
  private isEmpty = false;
  /** When the next delayed job is due, in milliseconds since the epoch, where that look has found out. */
  private dueAt = Infinity;
  /** Whether the reason for the next look is a notification, other than of a job that this worker has put back. */
  private isNotified = false;
  /** Notifications in a row after which there was no job. */
  private inVain = 0;
  /** Jobs that this worker puts back, and whose notification it has not heard. */
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

  /** @param look for a job, with the result of BullMQ's `moveToActive` */
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

  /** Puts a job back, which is going to be announced as well. */
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
   * Resolves when it is time to look: at once, unless the last look found nothing. After looks in vain, it leaves a job to
   * others for a moment.
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
    if (!this.heardOfPutBack()) this.isNotified = true;
    if (this.wake === undefined || this.hesitating !== undefined) return;
    const { hesitation } = this;
    if (hesitation === 0) this.wake();
    else this.hesitating = setTimeout(this.wake, hesitation);
  }

  /** Milliseconds for which a job is left to others. */
  private get hesitation(): number {
    return this.isNotified && this.inVain > 0 ? Math.min(2 ** this.inVain, LONGEST_HESITATION) : 0;
  }

  /** Returns whether this worker had put back a job. */
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
