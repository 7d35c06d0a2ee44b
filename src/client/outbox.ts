import type { NewJob } from '../queue/batch-job.js';
import type { Lane } from './lane.js';
import { OutgoingJob } from './outgoing-job.js';
import { bytesOf, type TakenMessage } from './taken-message.js';

/** Bound of what is added in one go, so that serialising it never blocks the process for long. */
const MAX_ADD_BYTES = 512_000;

const FIRST_RETRY_DELAY = 100;
const MAX_RETRY_DELAY = 5_000;
/** Adds begin this long after one another, in milliseconds: what is flushed in between is merged into larger jobs. */
const ADD_INTERVAL = 10;
/** Longest timer that Node has; its only purpose is to keep the process alive. */
const FOR_EVER = 2 ** 31 - 1;

/** Where jobs are handed to. */
export interface JobSink {
  /** Resolves once the jobs are safely in the queue; adding the same ones again is harmless. */
  add(jobs: readonly NewJob[]): Promise<void>;
}

/**
 * Hands flushed messages to the queue, one add at a time: what is flushed meanwhile waits and is merged
 * into larger jobs. An add that fails is repeated as it was, under the same job ids, until it succeeds:
 * it may have happened although it failed.
 */
export class Outbox {
  private readonly waiting = new Map<Lane, TakenMessage[][]>();
  private waitingBytes = 0;
  /** Whether an add is in flight. */
  private isAdding = false;
  /** Starts the next add; `undefined` while none is due. */
  private timer: NodeJS.Timeout | undefined;
  private nextAddAt = -Infinity;
  private isHurried = false;
  private isClosed = false;
  /** An idle connection to the queue does not keep a process alive, work on it must. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly sink: JobSink,
    private readonly onQueued: (messages: readonly TakenMessage[]) => void,
    private readonly onAddFailed: (error: unknown) => void,
  ) {}

  /** Takes flushed messages; they are added after the call that is being tracked, never within it. */
  send(lane: Lane, messages: TakenMessage[]): void {
    const flushed = this.waiting.get(lane);
    if (flushed === undefined) this.waiting.set(lane, [messages]);
    else flushed.push(messages);
    this.waitingBytes += bytesOf(messages);
    this.schedule();
  }

  /** Somebody waits for what is here: it does not wait for more to be merged with. */
  hurry(): void {
    if (this.waiting.size === 0) return;
    this.isHurried = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.schedule();
  }

  /** Gives up what is not in the queue yet. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.keepAlive);
  }

  private schedule(): void {
    if (this.isAdding || this.timer !== undefined || this.waiting.size === 0 || this.isClosed) return;
    const isFull = this.waitingBytes >= MAX_ADD_BYTES;
    const wait = this.isHurried || isFull ? 0 : this.nextAddAt - performance.now();
    if (wait > 0) {
      this.timer = setTimeout(this.work, wait);
      return;
    }
    this.isAdding = true;
    setImmediate(this.work);
  }

  private readonly work = (): void => {
    this.timer = undefined;
    this.isAdding = true;
    this.nextAddAt = performance.now() + ADD_INTERVAL;
    this.keepAlive = setTimeout(() => undefined, FOR_EVER);
    const jobs = this.takeJobs();
    void this.add(jobs).then((isAdded) => {
      clearTimeout(this.keepAlive);
      this.isAdding = false;
      if (this.waiting.size === 0) this.isHurried = false;
      const queued = isAdded ? jobs.flatMap(({ batches }) => batches) : [];
      for (const { messages } of queued) this.onQueued(messages);
      this.schedule();
    });
  };

  private async add(jobs: readonly OutgoingJob[]): Promise<boolean> {
    for (let delay = FIRST_RETRY_DELAY; !this.isClosed; delay = Math.min(delay * 2, MAX_RETRY_DELAY)) {
      try {
        await this.sink.add(jobs);
        return true;
      } catch (error) {
        this.onAddFailed(error);
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
    return false;
  }

  /** Takes from each lane in turn, so that a busy one does not hold up the others. */
  private takeJobs(): OutgoingJob[] {
    let job = new OutgoingJob();
    const jobs = [job];
    let bytes = 0;
    for (const [lane, flushed] of this.waiting) {
      if (bytes >= MAX_ADD_BYTES) break;
      let taken = job.takeFrom(lane, flushed);
      if (taken === 0) {
        job = new OutgoingJob();
        jobs.push(job);
        taken = job.takeFrom(lane, flushed);
      }
      bytes += taken;
      // A served lane goes to the end of the line, where this loop meets it again.
      this.waiting.delete(lane);
      if (flushed.length > 0) this.waiting.set(lane, flushed);
    }
    this.waitingBytes -= bytes;
    return jobs;
  }
}
