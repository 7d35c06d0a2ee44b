import type { OutboxRelay } from './outbox-relay.js';
import type { OutboxStatus, OutboxStore } from './outbox-store.js';

/** The outbox of a running application. */
export class Outbox {
  constructor(
    private readonly store: OutboxStore,
    /** `undefined` in a process that only produces. */
    private readonly relay: OutboxRelay | undefined,
    private readonly end: () => Promise<void>,
  ) {}

  start(): void {
    this.relay?.start();
  }

  /** Claims no more rows. */
  stop(): void {
    this.relay?.stop();
  }

  /** Gives what is in hand this many milliseconds to get into the queue. What is left stays in the table. */
  async close(patience: number): Promise<void> {
    await this.relay?.close(patience);
    await this.end();
  }

  status(): Promise<OutboxStatus> {
    return this.store.status();
  }
}
