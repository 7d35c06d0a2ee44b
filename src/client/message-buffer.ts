import { batchBytes, MAX_BATCH_BYTES } from '../messages/limits.js';
import type { Lane } from './lane.js';
import type { TakenMessage } from './taken-message.js';

/** When a buffer flushes. */
export interface FlushRules {
  /** Number of messages that triggers a flush. */
  flushAt: number;
  /** The longest that a message waits, in milliseconds. */
  flushAfter: number;
}

/** Collects the messages of one lane until they are flushed together as a batch. */
export class MessageBuffer {
  private messages: TakenMessage[] = [];
  private bytes = 0;
  /** Armed by the first message. It keeps the process alive: what was taken is to arrive. */
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly lane: Lane,
    private readonly rules: FlushRules,
    private readonly send: (lane: Lane, messages: TakenMessage[]) => void,
  ) {}

  push(message: TakenMessage): void {
    if (batchBytes(this.bytes + message.bytes, this.messages.length + 1) > MAX_BATCH_BYTES) this.flush();
    this.messages.push(message);
    this.bytes += message.bytes;
    if (this.messages.length >= this.rules.flushAt) this.flush();
    else this.timer ??= setTimeout(this.flush, this.rules.flushAfter);
  }

  readonly flush = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.messages.length === 0) return;
    const messages = this.messages;
    this.messages = [];
    this.bytes = 0;
    this.send(this.lane, messages);
  };
}
