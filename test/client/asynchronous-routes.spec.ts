import { describe, expect, it } from '@jest/globals';
import type { Route, Router } from '../../src/client/router.js';
import type { TrackParams } from '../../src/index.js';
import type { AnalyticsMessage } from '../../src/messages/message.types.js';
import type { FakeClock } from '../support/fake-clock.js';
import { clientUnderTest, connectionTo, ids } from './client-under-test.js';

const ONE = connectionTo('one');
const TWO = connectionTo('two');
const FAR = connectionTo('one', 'other');

/** Looks a route up for as long as the messageId says: `20ms-…`. Messages with the same delay share a look-up. */
class SlowRouter implements Router {
  readonly forwards = false;
  readonly isReady = true;
  private readonly lookUps = new Map<number, Promise<void>>();

  constructor(private readonly clock: FakeClock) {}

  leads(): boolean {
    return true;
  }

  ownerOf({ context: { groupId } }: AnalyticsMessage): string | undefined {
    return typeof groupId === 'string' ? groupId : undefined;
  }

  route(source: string, { messageId }: AnalyticsMessage): Route | Promise<Route> {
    const delay = /^(\d+)ms/.exec(messageId)?.[1];
    const route = { connections: this.connectionsOf(source, messageId), isFiltered: messageId.includes('filtered') }; // prettier-ignore
    if (delay === undefined) return route;
    return this.lookUp(Number(delay)).then(() => {
      if (messageId.includes('fails')) throw new Error('the store is away');
      return route;
    });
  }

  private lookUp(delay: number): Promise<void> {
    let lookUp = this.lookUps.get(delay);
    if (lookUp === undefined) {
      lookUp = new Promise((resolve) => {
        this.clock.afterUnlessIdle(delay, resolve);
      });
      this.lookUps.set(delay, lookUp);
    }
    return lookUp;
  }

  private connectionsOf(source: string, messageId: string): Route['connections'] {
    if (messageId.includes('filtered')) return [];
    if (source === 'other') return [FAR];
    return messageId.includes('both') ? [ONE, TWO] : [ONE];
  }
}

const router = (clock: FakeClock): Router => new SlowRouter(clock);

describe('a route that has to be looked up', () => {
  it('does not hold up the call, and its message is queued once the look-up ends', async () => {
    const { client, clock, queue, track } = clientUnderTest({ router });
    track('20ms-both');
    const flushed = client.flush();
    await clock.pass(19);
    expect(queue.asked).toHaveLength(0);
    await clock.pass(1);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect([queue.messagesFor('one'), queue.messagesFor('two')]).toEqual([['20ms-both'], ['20ms-both']]);
  });

  it('holds up no other message, and keeps the order of the messages that wait for it', async () => {
    const { client, clock, queue, track } = clientUnderTest({ router });
    track('30ms-a', '10ms-b', 'c', '30ms-d', 'e', '10ms-f');
    client.take('other', 'track', { userId: 'u1', event: 'E', messageId: 'elsewhere' });
    const flushed = client.flush();
    await clock.pass(5);
    expect(queue.messagesFor('one')).toEqual(['c', 'e', 'elsewhere']);
    await clock.pass(15);
    expect(queue.messagesFor('one').slice(3)).toEqual(['10ms-b', '10ms-f']);
    await clock.pass(25);
    expect(queue.messagesFor('one').slice(5)).toEqual(['30ms-a', '30ms-d']);
    expect(await flushed).toEqual({ queued: 7, refused: 0, pending: 0 });
  });

  it('is awaited by a flush, which reports the message as pending if it times out', async () => {
    const { client, clock, track } = clientUnderTest({ router });
    track('10ms-a', '500ms-b', 'c');
    const flushed = client.flush({ timeout: 100 });
    await clock.pass(100);
    expect(await flushed).toEqual({ queued: 2, refused: 0, pending: 1 });
  });

  it('counts its message towards the buffer limit, and once for each destination after the look-up', async () => {
    const { client, clock, track, told } = clientUnderTest({ router, options: { maxBufferedBytes: 500 } });
    track('20ms-both-1', '20ms-both-2', '20ms-both-3', '20ms-both-4');
    expect(told.refused).toHaveLength(1);
    await clock.pass(20);
    track('5');
    expect(told.refused).toHaveLength(2);
    const flushed = client.flush();
    await clock.pass(10);
    expect(await flushed).toEqual({ queued: 3, refused: 2, pending: 0 });
    track('6');
    expect(told.refused).toHaveLength(2);
  });

  it.each([
    ['finds only destinations that are full', '20ms-a', /^it is full$/],
    ['fails', '20ms-fails', /^its destinations could not be looked up/],
  ])('refuses the message to whoever waits for it if the look-up %s', async (_case, messageId, reason) => {
    const { client, clock, queue } = clientUnderTest({ router, admission: { refusal: () => 'it is full' } });
    const reasons: string[] = [];
    const request = client.received.begin();
    client.received.take(request, {
      source: 'web',
      fields: { type: 'track', userId: 'u1', event: 'E', messageId, timestamp: '2026-11-21T09:30:00.123Z' },
      onRefused: (refusal) => reasons.push(refusal.reason),
    });
    const handedOver = client.received.handOver(request, 5_000);
    const taken = client.awaited.takeAll('web', 'track', [{ userId: 'u1', event: 'E', messageId }]);
    await clock.pass(20);
    expect(await taken).toMatchObject([
      { place: 0, error: { code: 'MESSAGE_REFUSED', reason: expect.stringMatching(reason) } },
    ]);
    expect(await handedOver).toBe(true);
    expect(reasons).toEqual([expect.stringMatching(reason)]);
    expect(queue.asked).toHaveLength(0);
  });

  it('is reported to whoever waits for the call if it leads to no destination, as a known one is', async () => {
    const { client, clock, queue } = clientUnderTest({ router });
    const messageIds = ['i1', '20ms-filtered', '20ms-i2', 'filtered'];
    const calls = messageIds.map((messageId) => ({ userId: 'u1', messageId }));
    const taken = client.awaited.takeAll('web', 'identify', calls);
    await clock.pass(20);
    expect(await taken).toEqual([
      { place: 3, error: undefined },
      { place: 1, error: undefined },
    ]);
    expect(queue.messagesFor('one')).toEqual(['i1', '20ms-i2']);
  });

  it('loses only its own message, which counts as refused, if the look-up fails', async () => {
    const { client, clock, queue, track, told } = clientUnderTest({ router });
    track('10ms-a', '20ms-fails', 'c');
    const flushed = client.flush();
    await clock.pass(50);
    expect(await flushed).toEqual({ queued: 2, refused: 1, pending: 0 });
    expect(queue.messagesFor('one')).toEqual(['c', '10ms-a']);
    expect(told.refused).toEqual([expect.stringMatching(/^its destinations could not be looked up \(Error/)]);
  });

  it('counts its message as filtered if the schema leaves no destination', async () => {
    const { client, clock, track } = clientUnderTest({ router });
    track('10ms-filtered', '10ms-b');
    const flushed = client.flush();
    await clock.pass(50);
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(client.usageOf('web')).toEqual({ received: 2, filtered: 1 });
  });

  it('is awaited by a shutdown, and its message counts as lost if the look-up takes too long', async () => {
    const { client, clock, queue, track } = clientUnderTest({ router });
    track('900ms-a', '1100ms-b', 'c');
    client.drain(1_000);
    const closed = client.close(1_000);
    await clock.pass(1_000);
    await closed;
    expect(queue.messagesFor('one')).toEqual(['c', '900ms-a']);
    expect(client.losses).toMatchObject({ messages: 1, unrouted: 1, byDestination: new Map() });
    await clock.pass(200);
    expect(queue.messagesFor('one')).toEqual(['c', '900ms-a']);
  });

  it('takes time in proportion to the number of messages that wait for it', async () => {
    const { client, clock, queue, track } = clientUnderTest({ router });
    track(...ids(20_000, '100ms'));
    const flushed = client.flush();
    await clock.pass(2_000);
    expect(await flushed).toEqual({ queued: 20_000, refused: 0, pending: 0 });
    expect(queue.messagesFor('one')).toEqual(ids(20_000, '100ms'));
  });

  describe('whose look-up does not end', () => {
    const NEVER = '100000000ms';
    const of = (groupId: string, messageId: string): TrackParams => ({
      ...{ userId: 'u1', event: 'Tracked', messageId },
      context: { groupId },
    });

    it('leaves room in the buffer for messages of other tenants, however many tenants it holds up', async () => {
      const { client, clock, queue, told } = clientUnderTest({
        router,
        options: { maxBufferedBytes: 100_000, flushAt: 1 },
      });
      for (const tenant of ['a', 'b', 'c', 'd']) {
        for (const id of ids(400, NEVER)) client.take('web', 'track', of(tenant, id));
        expect(client.pendingBytes).toBeLessThan(100_000);
        const before = told.refused.length;
        for (let n = 0; n < 20; n++) client.take('web', 'track', of('healthy', `${tenant}-${n}`));
        await clock.pass(1_000);
        expect(told.refused).toHaveLength(before);
      }
      expect(queue.messagesFor('one')).toHaveLength(80);
      expect(new Set(told.refused)).toEqual(
        new Set([expect.stringMatching(/too many of its messages wait/)]),
      );
      const fields = { ...of('healthy', 'received'), type: 'track', timestamp: '2026-11-21T09:30:00.123Z' };
      expect(client.received.take(client.received.begin(), { source: 'web', fields })).toBe(true);
    });

    it('leaves room for received messages of other tenants, and three quarters of the buffer for calls', async () => {
      const { client, clock, told, track } = clientUnderTest({
        router,
        options: { maxBufferedBytes: 100_000 },
      });
      const timestamp = '2026-11-21T09:30:00.123Z';
      const receive = (
        groupId: string,
        messageIds: string[],
      ): { isTaken: boolean; isInTime: Promise<boolean> } => {
        const request = client.received.begin();
        const isTaken = messageIds.every((id) =>
          client.received.take(request, {
            source: 'web',
            fields: { ...of(groupId, id), type: 'track', timestamp },
          }),
        );
        return { isTaken, isInTime: client.received.handOver(request, 5_000) };
      };
      for (const tenant of ids(10, 'tenant')) for (const id of ids(20, NEVER)) void receive(tenant, [id]);
      expect(receive('healthy', ids(20, '10ms')).isTaken).toBe(false);
      await clock.pass(5_000);
      const healthy = receive('healthy', ids(20, '10ms'));
      expect(healthy.isTaken).toBe(true);
      await clock.pass(100);
      expect(await healthy.isInTime).toBe(true);

      track(...ids(200, NEVER));
      expect(told.refused).toEqual([]);
    });

    it('may fill the whole buffer if every message waits for it', async () => {
      const { client, clock, track } = clientUnderTest({ router, options: { maxBufferedBytes: 40_000 } });
      track(...ids(300, NEVER));
      await clock.pass(0);
      expect(client.pendingBytes).toBeGreaterThan(39_000);
    });

    it('does not hold up a group of calls that does not need it', async () => {
      const { client, clock, queue, track } = clientUnderTest({ router });
      track(NEVER);
      const taken = client.awaited.takeAll('web', 'identify', [{ userId: 'u1', messageId: 'i1' }]);
      await clock.pass(0);
      await taken;
      expect(queue.messagesFor('one')).toEqual(['i1']);
    });

    it('does not hold up the other calls of a group, while its own call is refused and never made later', async () => {
      const { client, clock, queue, told } = clientUnderTest({ router });
      const calls = [
        { userId: 'u1', messageId: 'i1' },
        { userId: 'u2', messageId: '10000ms-late' },
        { userId: 'u3', messageId: '10ms-i3' },
      ];
      const taken = client.awaited.takeAll('web', 'identify', calls);
      await clock.pass(2_000);
      expect(await taken).toMatchObject([
        { place: 1, error: { code: 'MESSAGE_REFUSED', reason: expect.stringMatching(/looked up in time$/) } },
      ]);
      await clock.pass(20_000);
      expect(queue.messagesFor('one')).toEqual(['i1', '10ms-i3']);
      expect(await client.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
      expect(told.refused).toEqual([expect.stringMatching(/looked up in time$/)]);
      expect(client.refused).toBe(1);
    });

    it('is awaited by a group of calls while the database is away or hangs, and for two seconds more', async () => {
      const stood: (() => void)[] = [];
      let isAway = true;
      class AwayRouter extends SlowRouter {
        checkLookups(): Promise<void> {
          if (isAway) return Promise.reject(new Error('away'));
          return new Promise((resolve) => stood.push(resolve));
        }
      }
      const { client, clock, queue } = clientUnderTest({ router: (time) => new AwayRouter(time) });
      const call = { userId: 'u1', messageId: '23900ms-late' };
      const taken = client.awaited.takeAll('web', 'identify', [call]);
      await clock.pass(12_000);
      isAway = false;
      await clock.pass(10_000);
      expect(stood).toHaveLength(1);
      stood[0]?.();
      await clock.pass(1_900);
      expect(await taken).toEqual([]);
      expect(queue.messagesFor('one')).toEqual(['23900ms-late']);
    });

    it('is awaited by a group of calls as long as look-ups before it are answered', async () => {
      const { client, clock, queue } = clientUnderTest({ router });
      const calls = Array.from({ length: 20 }, (_, index) => ({
        userId: 'u1',
        messageId: `${300 * (index + 1)}ms-i${index}`,
      }));
      const taken = client.awaited.takeAll('web', 'identify', calls);
      await clock.pass(8_000);
      expect(await taken).toEqual([]);
      expect(queue.messagesFor('one')).toEqual(calls.map(({ messageId }) => messageId));
    });

    it('does not hold up a group of calls that waits for room in the buffer', async () => {
      const { client, clock, queue, track } = clientUnderTest({
        router,
        options: { maxBufferedBytes: 1_000, flushAt: 1 },
      });
      track(NEVER);
      queue.delay = 10;
      const calls = ids(20, 'i').map((messageId) => ({ userId: 'u1', messageId }));
      const taken = client.awaited.takeAll('web', 'identify', calls);
      await clock.pass(1_000);
      await taken;
      expect(queue.messagesFor('one')).toEqual(ids(20, 'i'));
    });
  });
});
