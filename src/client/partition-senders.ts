import type { Clock } from '../shared/clock.js';
import type { TakenMessage } from './backlog.js';
import type { SourceConnection } from './router.js';
import { type JobSink, Sender, type SenderObserver, type UnsentMessages } from './sender.js';

/**
 * Hands flushed messages to the partitions of the queue. Each partition has its own add in flight, so a partition that
 * does not answer, such as a slot of a Redis Cluster whose master is gone, does not hold up the others.
 */
export class PartitionSenders {
  /** Senders by partition. */
  private readonly senders = new Map<number, Sender>();
  private isDraining = false;

  constructor(
    private readonly sink: JobSink,
    private readonly clock: Clock,
    private readonly observer: SenderObserver,
  ) {}

  send(connection: SourceConnection, messages: TakenMessage[]): void {
    this.senderFor(connection).send(connection, messages);
  }

  hurry(): void {
    for (const sender of this.senders.values()) sender.hurry();
  }

  drain(): void {
    this.isDraining = true;
    for (const sender of this.senders.values()) sender.drain();
  }

  close(): void {
    for (const sender of this.senders.values()) sender.close();
  }

  get unsent(): UnsentMessages {
    const byDestination = new Map<string, number>();
    let unconfirmed = 0;
    for (const { unsent } of this.senders.values()) {
      // A destination has one partition.
      for (const [destination, messages] of unsent.byDestination) byDestination.set(destination, messages);
      unconfirmed += unsent.unconfirmed;
    }
    return { byDestination, unconfirmed };
  }

  private senderFor({ destination }: SourceConnection): Sender {
    const partition = this.sink.partitionOf?.(destination) ?? 0;
    let sender = this.senders.get(partition);
    if (sender === undefined) {
      this.senders.set(partition, (sender = new Sender(this.sink, this.clock, this.observer)));
      if (this.isDraining) sender.drain();
    }
    return sender;
  }
}
