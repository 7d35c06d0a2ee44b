import { describe, expect, it } from '@jest/globals';
import type { CapacityShare } from '../../src/delivery/capacity-share.js';
import { EventLoopBudget } from '../../src/delivery/event-loop-budget.js';
import { SharedCapacity } from '../../src/delivery/shared-capacity.js';

const LIMIT = 80;
const UNLIMITED = new EventLoopBudget(Infinity);

/** Destinations that always have more to send, and use every place that they are offered. */
class Senders {
  readonly shares: CapacityShare[] = [];
  /** How often a destination was asked whether it can send. */
  asked = 0;

  constructor(readonly capacity: SharedCapacity) {}

  join(places = 1): CapacityShare {
    const share = this.capacity.join((own) => {
      this.asked++;
      return this.send(own);
    }, places);
    this.shares.push(share);
    return share;
  }

  /** Sends as much as there is room for, and waits to send more. */
  fill(share: CapacityShare): void {
    while (this.send(share));
  }

  /** Ends a request, and offers its place to waiting destinations. */
  end(share: CapacityShare): void {
    this.capacity.release(share);
    this.capacity.resume();
  }

  private send(share: CapacityShare): boolean {
    const hasRoom = this.capacity.hasRoom(share);
    if (hasRoom) this.capacity.take(share);
    this.capacity.wait(share);
    return hasRoom;
  }
}

describe('a capacity that destinations share', () => {
  function sendersOf(count: number): Senders {
    const senders = new Senders(new SharedCapacity(LIMIT, UNLIMITED));
    for (let n = 0; n < count; n++) senders.join();
    for (const share of senders.shares) senders.fill(share);
    return senders;
  }

  it('asks a destination or two for each request that ends, however many wait', () => {
    // Two or three places for each leave only the reserve, which none of them may have.
    const senders = sendersOf(30);
    const ENDED = 5_000;
    for (let n = 0; n < ENDED; n++) {
      const busy = senders.shares.filter(({ held }) => held > 0);
      const share = busy[n % busy.length];
      if (share !== undefined) senders.end(share);
    }
    expect(senders.asked).toBeLessThan(3 * ENDED);
    expect(senders.asked).toBeGreaterThan(ENDED / 2);
  });

  it('gives a place back to a destination that waits and holds no more than its share', () => {
    const senders = sendersOf(2);
    const [first, second] = senders.shares;
    if (first === undefined || second === undefined) throw new Error('There are two');
    while (first.held > second.held) senders.end(first);
    for (let n = 0; n < LIMIT; n++) senders.end(first);
    expect([first.held, second.held]).toEqual([LIMIT / 2, LIMIT / 2]);
  });

  it('gives the reserve to a waiting destination as soon as it is alone', () => {
    const senders = new Senders(new SharedCapacity(LIMIT, UNLIMITED));
    const [stays, leaves] = [senders.join(), senders.join()];
    senders.fill(stays);
    expect(stays.held).toBe(LIMIT - LIMIT / 8);
    senders.capacity.leave(leaves);
    senders.capacity.resume();
    expect(stays.held).toBe(LIMIT);
  });

  it('goes on to the next destination if the destination at its turn waits elsewhere or has nothing to send', () => {
    const capacity = new SharedCapacity(1, UNLIMITED);
    const sent: string[] = [];
    const busy = capacity.join(() => false);
    capacity.take(busy);
    capacity.wait(capacity.join(() => false));
    const last = capacity.join(() => {
      sent.push('last');
      capacity.take(last);
      return true;
    });
    capacity.wait(last);
    capacity.release(busy);
    capacity.resume();
    expect(sent).toEqual(['last']);
  });

  it('gives an idle destination that waits behind others a place beyond the limit', () => {
    const senders = new Senders(new SharedCapacity(LIMIT, UNLIMITED, 1));
    const { capacity } = senders;
    const [most, few, idle] = [senders.join(), senders.join(), senders.join()];
    capacity.take(few);
    while (most.held < LIMIT - 1) capacity.take(most);
    for (const share of [few, idle]) capacity.wait(share);
    capacity.resume();
    expect([most.held, few.held, idle.held]).toEqual([LIMIT - 1, 1, 1]);
  });

  it('limits how many destinations have places beyond the limit, whatever number of places their requests take', () => {
    const capacity = new SharedCapacity(8, UNLIMITED, 3);
    const shares = Array.from({ length: 6 }, () => capacity.join(() => false, 5));
    const taken = shares.filter((share) => {
      const hasRoom = capacity.hasRoom(share);
      if (hasRoom) capacity.take(share);
      return hasRoom;
    });
    expect(taken).toHaveLength(5);
    for (const share of taken.slice(2)) capacity.release(share);
    expect(shares.filter((share) => capacity.hasRoom(share) && share.held === 0)).toHaveLength(4);
  });

  it('lets destinations with several places per request use the reserve within their share', () => {
    const senders = new Senders(new SharedCapacity(LIMIT, UNLIMITED));
    const [wide, narrow] = [senders.join(3), senders.join()];
    senders.fill(narrow);
    senders.fill(wide);
    for (let n = 0; n < LIMIT; n++) senders.end(narrow);
    expect(wide.held).toBe(LIMIT / 2 - 1);
    expect(narrow.held).toBeGreaterThanOrEqual(LIMIT / 2 - LIMIT / 8);
  });
});
