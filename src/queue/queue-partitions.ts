import type { BatchJobQueue, QueueBackend } from './queue-backend.js';

/**
 * The BullMQ queues over which messages are spread by their destination. Beside those that this process adds to,
 * there may be more, from other processes and from earlier deploys. These are read until they are empty.
 */
export class QueuePartitions {
  private readonly opened: BatchJobQueue[] = [];
  private onOpened: (partition: number) => void = () => undefined;
  private isClosed = false;

  /** @param written how many this process adds to */
  constructor(
    private readonly backend: QueueBackend,
    readonly written: number,
  ) {
    this.openUpTo(written);
  }

  /** All queues that are read. The list grows. */
  get queues(): readonly BatchJobQueue[] {
    return this.opened;
  }

  /** @param onOpened called for each partition that is opened from now on */
  observe(onOpened: (partition: number) => void): void {
    this.onOpened = onOpened;
  }

  openUpTo(count: number): void {
    if (this.isClosed) return;
    for (let partition = this.opened.length; partition < count; partition++) {
      const queue = this.backend.createQueue(partition, {});
      // BullMQ prints errors that nobody listens to.
      queue.on('error', (error) => {
        this.backend.health.report(error);
      });
      this.opened.push(queue);
      this.onOpened(partition);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.opened.map((queue) => queue.close()));
  }
}
