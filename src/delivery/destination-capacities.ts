import type { Destination } from '../destinations/destination.js';
import type { CapacityShare } from './capacity-share.js';
import { requestsFor } from './destination-pace.js';
import type { DestinationQueue } from './destination-queue.js';
import type { EventLoopBudget } from './event-loop-budget.js';
import { SharedCapacity } from './shared-capacity.js';

export interface CapacityOptions {
  /** Most requests on their way at once, over all destinations. An idle destination may always send one. */
  requests: number;
  /** Sockets per origin. */
  connections: number;
  /** Spreads requests over turns of the event loop. */
  eventLoop: EventLoopBudget;
}

/** The capacities that all destinations share: the requests of this process, and the sockets of each origin. */
export class DestinationCapacities {
  private readonly origins = new Map<string, SharedCapacity>();
  private readonly process: SharedCapacity;

  constructor(private readonly limits: CapacityOptions) {
    const { requests, eventLoop } = limits;
    this.process = new SharedCapacity(requests, eventLoop, requests);
  }

  /** Directs the requests of a queue to a destination, and makes them take places in its capacities. */
  join(queue: DestinationQueue, destination: Destination): void {
    queue.use(destination, [this.joinProcess(queue, destination), ...this.joinOrigins(queue, destination)]);
  }

  /** Directs the requests of a queue, including those that wait, to a destination that has changed. */
  rejoin(queue: DestinationQueue, destination: Destination): void {
    const before = queue.capacityShares;
    const kept = before.find(
      (share) => share.capacity === this.process && share.places === requestsFor(destination),
    );
    const ofProcess = kept ?? this.joinProcess(queue, destination);
    queue.use(destination, [ofProcess, ...this.joinOrigins(queue, destination)]);
    // Requests on their way still hold places in the former capacities, and give them back.
    for (const share of before) if (share !== kept) share.capacity.leave(share);
    // The queue may have waited for its turn in a ring that it has left.
    queue.advance();
  }

  /** Removes a forgotten queue, which has nothing on its way. */
  leave(queue: DestinationQueue): void {
    for (const share of queue.capacityShares) share.capacity.leave(share);
  }

  /** Forgets origins that no destination uses any more. */
  sweep(): void {
    for (const [origin, capacity] of this.origins) if (capacity.isUnused) this.origins.delete(origin);
  }

  private joinProcess(queue: DestinationQueue, destination: Destination): CapacityShare {
    return this.process.join(queue.resume, requestsFor(destination));
  }

  private joinOrigins(queue: DestinationQueue, { origins }: Destination): CapacityShare[] {
    const places = new Map<string, number>();
    for (const origin of origins) places.set(origin, (places.get(origin) ?? 0) + 1);
    return Array.from(places, ([origin, count]) => this.originOf(origin).join(queue.resume, count));
  }

  private originOf(origin: string): SharedCapacity {
    let capacity = this.origins.get(origin);
    if (capacity === undefined) {
      capacity = new SharedCapacity(this.limits.connections, this.limits.eventLoop);
      this.origins.set(origin, capacity);
    }
    return capacity;
  }
}
