import { randomUUID } from 'node:crypto';
import { batchBytes, MAX_BATCH_BYTES } from '../messages/limits.js';
import type { NewBatch } from '../queue/batch-job.js';
import type { Lane } from './lane.js';
import type { TakenMessage } from './taken-message.js';

/**
 * A job of 100 costs little more than a job of 20, so flushes that had to wait are merged; larger ones
 * would gain nothing and hold a worker for longer.
 */
const MAX_JOB_MESSAGES = 100;
/** Bounds of what is added in one go, so that serialising it never blocks the process for long. */
const MAX_ADD_JOBS = 64;
const MAX_ADD_BYTES = 512_000;

const FIRST_RETRY_DELAY = 100;
const MAX_RETRY_DELAY = 5_000;
/** Longest timer that Node has; its only purpose is to keep the process alive. */
const FOR_EVER = 2 ** 31 - 1;

interface Batch extends NewBatch {
  readonly messages: TakenMessage[];
}

/** Where batches are handed to. */
export interface BatchSink {
  /** Resolves once the batches are safely in the queue; adding the same ones again is harmless. */
  add(batches: readonly NewBatch[]): Promise<void>;
}

/**
 * Hands flushed messages to the queue, one add at a time: what is flushed meanwhile waits and is merged
 * into larger jobs. An add that fails is repeated as it was, under the same job ids, until it succeeds:
 * it may have happened although it failed.
 */
export class Outbox {
  private readonly waiting = new Map<Lane, TakenMessage[][]>();
  private adding = false;
  private closed = false;
  /** An idle connection to the queue does not keep a process alive, work on it must. */
  private keepAlive: NodeJS.Timeout | undefined;

  constructor(
    private readonly sink: BatchSink,
    private readonly onQueued: (messages: readonly TakenMessage[]) => void,
    private readonly onAddFailed: (error: unknown) => void,
  ) {}

  send(lane: Lane, messages: TakenMessage[]): void {
    const flushed = this.waiting.get(lane);
    if (flushed === undefined) this.waiting.set(lane, [messages]);
    else flushed.push(messages);
    if (!this.adding) void this.work();
  }

  /** Gives up what is not in the queue yet. */
  close(): void {
    this.closed = true;
    clearTimeout(this.keepAlive);
  }

  private async work(): Promise<void> {
    this.adding = true;
    this.keepAlive = setTimeout(() => undefined, FOR_EVER);
    while (this.waiting.size > 0 && !this.closed) {
      const batches = this.takeBatches();
      if (await this.add(batches)) for (const batch of batches) this.onQueued(batch.messages);
    }
    clearTimeout(this.keepAlive);
    this.adding = false;
  }

  private async add(batches: readonly Batch[]): Promise<boolean> {
    for (let delay = FIRST_RETRY_DELAY; !this.closed; delay = Math.min(delay * 2, MAX_RETRY_DELAY)) {
      try {
        await this.sink.add(batches);
        return true;
      } catch (error) {
        this.onAddFailed(error);
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
    return false;
  }

  /** Takes from each lane in turn, so that a busy one does not hold up the others. */
  private takeBatches(): Batch[] {
    const batches: Batch[] = [];
    let bytes = 0;
    for (const [lane, flushed] of this.waiting) {
      if (batches.length >= MAX_ADD_JOBS || bytes >= MAX_ADD_BYTES) break;
      const messages = mergeFlushes(flushed);
      // A served lane goes to the end of the line, where this loop meets it again.
      this.waiting.delete(lane);
      if (flushed.length > 0) this.waiting.set(lane, flushed);
      for (const message of messages) bytes += message.bytes;
      batches.push({
        jobId: randomUUID(),
        destination: lane.destination,
        source: lane.source,
        failedRetention: lane.failedRetention,
        messages,
      });
    }
    return batches;
  }
}

/** Takes flushes from the front as long as they fit into one job. */
function mergeFlushes(flushed: TakenMessage[][]): TakenMessage[] {
  const merged: TakenMessage[] = [];
  let bytes = 0;
  for (let next = flushed[0]; next !== undefined; next = flushed[0]) {
    const nextBytes = next.reduce((sum, message) => sum + message.bytes, 0);
    const count = merged.length + next.length;
    const fits = count <= MAX_JOB_MESSAGES && batchBytes(bytes + nextBytes, count) <= MAX_BATCH_BYTES;
    if (merged.length > 0 && !fits) break;
    merged.push(...next);
    bytes += nextBytes;
    flushed.shift();
  }
  return merged;
}
