import { batchBytes, MAX_BATCH_BYTES } from '../messages/serialize.js';
import type { Clock, Timer } from '../shared/clock.js';
import type { TakenMessage } from './backlog.js';
import type { SourceConnection } from './router.js';

/** When a batch is flushed. */
export interface FlushRules {
  /** Number of messages that triggers a flush. */
  flushAt: number;
  /** The longest time that a message waits, in milliseconds. */
  flushAfter: number;
}

/** A batch that is being filled. */
interface OpenBatch {
  readonly messages: TakenMessage[];
  bytes: number;
  /** Set by the first message. Keeps the process alive, since the messages have to arrive. */
  timer: Timer | undefined;
}

/** Collects the messages of each connection into batches until they are flushed. */
export class Batches {
  private readonly open = new Map<SourceConnection, OpenBatch>();
  private rules: FlushRules;

  constructor(
    rules: FlushRules,
    private readonly clock: Clock,
    private readonly send: (connection: SourceConnection, messages: TakenMessage[]) => void,
  ) {
    this.rules = { flushAt: rules.flushAt, flushAfter: rules.flushAfter };
  }

  push(connection: SourceConnection, message: TakenMessage): void {
    let batch = this.open.get(connection);
    if (
      batch !== undefined &&
      batchBytes(batch.bytes + message.bytes, batch.messages.length + 1) > MAX_BATCH_BYTES
    ) {
      this.close(connection, batch);
      batch = undefined;
    }
    if (batch === undefined) {
      batch = { messages: [], bytes: 0, timer: undefined };
      this.open.set(connection, batch);
    }
    batch.messages.push(message);
    batch.bytes += message.bytes;
    if (batch.messages.length >= this.rules.flushAt) this.close(connection, batch);
    else batch.timer ??= this.timerOf(connection, batch);
  }

  /** Flushes all batches, however small. */
  flush(): void {
    for (const [connection, batch] of this.open) this.close(connection, batch);
  }

  /** Flushes all batches, and from now on each message at once. */
  passThrough(): void {
    this.rules = { ...this.rules, flushAt: 1 };
    this.flush();
  }

  private timerOf(connection: SourceConnection, batch: OpenBatch): Timer {
    return this.clock.after(this.rules.flushAfter, () => {
      this.close(connection, batch);
    });
  }

  private close(connection: SourceConnection, batch: OpenBatch): void {
    batch.timer?.cancel();
    this.open.delete(connection);
    this.send(connection, batch.messages);
  }
}
