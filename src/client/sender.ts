import type { NewJob } from '../queue/batch-job.js';
import { type Clock, LONGEST_TIMER, type Timer } from '../shared/clock.js';
import { bytesOf, type TakenMessage } from './backlog.js';
import { OutgoingJob } from './outgoing-job.js';
import type { SourceConnection } from './router.js';

/** Limit of one add, so that serialising it never blocks the process for long. */
const MAX_ADD_BYTES = 512_000;

const FIRST_RETRY_DELAY = 100;
const MAX_RETRY_DELAY = 5_000;
/** The same limit in a shutdown, when time is short and the queue may come back at any moment. */
const MAX_RETRY_DELAY_DRAINING = 250;
/**
 * Pause between the starts of two adds, in milliseconds. Messages flushed in between are merged into larger
 * jobs.
 */
const ADD_INTERVAL = 10;

/** Where jobs go. */
export interface JobSink {
  /** Resolves once the jobs are safely in the queue; adding the same ones again is harmless. */
  add(jobs: readonly NewJob[]): Promise<void>;
  /** The partition that messages for a destination go to. @default one for all */
  readonly partitionOf?: (destination: string) => number;
}

/** Receives what becomes of the messages. */
export interface SenderObserver {
  /** Called when one copy of each message is in the queue. */
  onQueued(messages: readonly TakenMessage[]): void;
  /** Called when an add failed. The add will be repeated. */
  onAddFailed(error: unknown): void;
}

/** Copies of messages that the queue did not take. */
export interface UnsentMessages {
  byDestination: Map<string, number>;
  /** Copies whose add had begun, so that they may be in the queue anyway. */
  unconfirmed: number;
}

/**
 * Hands flushed messages to one partition of the queue, one add at a time. Messages flushed meanwhile wait and are
 * merged into larger jobs. A failed add is repeated unchanged, under the same job ids, until it succeeds: it may have
 * been stored although it failed.
 */
export class Sender {
  private readonly waiting = new Map<SourceConnection, TakenMessage[][]>();
  private waitingBytes = 0;
  /** The jobs of an add that began and is not confirmed. */
  private jobs: readonly OutgoingJob[] = [];
  private isBusy = false;
  /** Starts the next add; `undefined` while none is due. */
  private nextAdd: Timer | undefined;
  private nextAddAt = -Infinity;
  private retry: Timer | undefined;
  private retryDelay = FIRST_RETRY_DELAY;
  private maxRetryDelay = MAX_RETRY_DELAY;
  private isHurried = false;
  private isClosed = false;
  /** An idle connection to the queue does not keep a process alive, but pending work must. */
  private keepAlive: Timer | undefined;

  constructor(
    private readonly sink: Pick<JobSink, 'add'>,
    private readonly clock: Clock,
    private readonly observer: SenderObserver,
  ) {}

  /**
   * Takes flushed messages. They are added after the current `track()` call has returned, never within it.
   */
  send(connection: SourceConnection, messages: TakenMessage[]): void {
    const flushed = this.waiting.get(connection);
    if (flushed === undefined) this.waiting.set(connection, [messages]);
    else flushed.push(messages);
    this.waitingBytes += bytesOf(messages);
    this.schedule();
  }

  /** Adds the flushed messages without waiting to merge them, since someone waits for these messages. */
  hurry(): void {
    if (this.waiting.size === 0) return;
    this.isHurried = true;
    this.nextAdd?.cancel();
    this.nextAdd = undefined;
    this.schedule();
  }

  /** Prepares for the shutdown: repeats a failed add at once, and then more often. */
  drain(): void {
    this.maxRetryDelay = MAX_RETRY_DELAY_DRAINING;
    this.hurry();
    if (this.retry === undefined) return;
    this.retry.cancel();
    this.addAgain();
  }

  /** Begins no more adds. An add in flight may still succeed. */
  close(): void {
    this.isClosed = true;
    this.nextAdd?.cancel();
    this.retry?.cancel();
    this.keepAlive?.cancel();
  }

  get unsent(): UnsentMessages {
    const byDestination = new Map<string, number>();
    let unconfirmed = 0;
    const count = (destination: string, messages: number): void => {
      byDestination.set(destination, (byDestination.get(destination) ?? 0) + messages);
    };
    for (const [{ destination }, flushed] of this.waiting) {
      for (const messages of flushed) count(destination, messages.length);
    }
    for (const { batches } of this.jobs) {
      for (const { destination, messages } of batches) {
        count(destination, messages.length);
        unconfirmed += messages.length;
      }
    }
    return { byDestination, unconfirmed };
  }

  private schedule(): void {
    if (this.isBusy || this.nextAdd !== undefined || this.waiting.size === 0 || this.isClosed) return;
    const isFull = this.waitingBytes >= MAX_ADD_BYTES;
    const wait = this.isHurried || isFull ? 0 : this.nextAddAt - this.clock.now();
    if (wait > 0) {
      this.nextAdd = this.clock.after(wait, this.work);
      return;
    }
    this.isBusy = true;
    this.clock.soon(this.work);
  }

  private readonly work = (): void => {
    this.nextAdd = undefined;
    if (this.isClosed) return;
    this.isBusy = true;
    this.nextAddAt = this.clock.now() + ADD_INTERVAL;
    this.keepAlive = this.clock.after(LONGEST_TIMER, () => undefined);
    this.jobs = this.takeJobs();
    this.retryDelay = FIRST_RETRY_DELAY;
    void this.add();
  };

  private async add(): Promise<void> {
    try {
      await this.sink.add(this.jobs);
    } catch (error) {
      this.failed(error);
      return;
    }
    this.added();
  }

  private added(): void {
    this.keepAlive?.cancel();
    const { jobs } = this;
    this.jobs = [];
    this.isBusy = false;
    if (this.waiting.size === 0) this.isHurried = false;
    for (const { batches } of jobs) for (const { messages } of batches) this.observer.onQueued(messages);
    this.schedule();
  }

  private failed(error: unknown): void {
    if (this.isClosed) return;
    this.observer.onAddFailed(error);
    const delay = Math.min(this.retryDelay, this.maxRetryDelay);
    this.retryDelay = 2 * delay;
    this.retry = this.clock.after(delay, () => {
      this.addAgain();
    });
  }

  private addAgain(): void {
    this.retry = undefined;
    void this.add();
  }

  /** Takes from each connection in turn, so that a busy one does not hold up the others. */
  private takeJobs(): OutgoingJob[] {
    let job = new OutgoingJob();
    const jobs = [job];
    let bytes = 0;
    for (const [connection, flushed] of this.waiting) {
      if (bytes >= MAX_ADD_BYTES) break;
      let taken = job.takeFrom(connection, flushed);
      if (taken === 0) {
        jobs.push((job = new OutgoingJob()));
        taken = job.takeFrom(connection, flushed);
      }
      bytes += taken;
      // The connection goes to the end of the map, where this loop reaches it again.
      this.waiting.delete(connection);
      if (flushed.length > 0) this.waiting.set(connection, flushed);
    }
    this.waitingBytes -= bytes;
    return jobs;
  }
}
