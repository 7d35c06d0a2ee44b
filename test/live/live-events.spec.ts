import { beforeEach, describe, expect, it } from '@jest/globals';
import { LiveEvents } from '../../src/live/live-events.js';
import { ALL_EVENTS } from '../../src/live/live-feed.js';
import type { AnalyticsMessage } from '../../src/messages/message.types.js';
import { LocalLiveFeed } from '../../src/live/stores/local-live-feed.js';
import { FakeClock } from '../support/fake-clock.js';

function createMessage(): AnalyticsMessage {
  const [messageId, timestamp] = ['m1', '2026-01-01T00:00:00.000Z'];
  return {
    type: 'track',
    event: 'E',
    userId: 'u1',
    messageId,
    timestamp,
    properties: {},
    context: {},
  } as AnalyticsMessage;
}

describe('live events that somebody watches', () => {
  let clock: FakeClock;
  let feed: LocalLiveFeed;
  let live: LiveEvents;

  beforeEach(async () => {
    clock = new FakeClock();
    feed = new LocalLiveFeed(clock);
    live = new LiveEvents({ feed, tenantOf: () => undefined, clock });
    await feed.watch(ALL_EVENTS);
  });

  function call(name: string): void {
    live.add('taken', { name });
  }

  /** Resolves to the number of events so far, including events that were only counted. */
  async function numberOfLatest(): Promise<number> {
    return feed.watch(ALL_EVENTS);
  }

  it('go on in a process that has more events than it shows', async () => {
    for (let turn = 0; turn < 100; turn++) {
      for (let n = 0; n < 60; n++) call(`event ${turn}`);
      await clock.pass(100);
      await feed.watch(ALL_EVENTS);
    }
    await clock.pass(1_000);
    expect(await numberOfLatest()).toBe(6_000);
  });

  it('arrive even if the process falls silent while it asks again whether anybody watches', async () => {
    call('first');
    await clock.pass(1_900);
    call('last');
    await clock.pass(1_000);
    expect(await numberOfLatest()).toBe(2);
  });

  it('cost one question every two seconds, however many pages were opened before', async () => {
    let questions = 0;
    const counted = {
      watched: () => {
        questions++;
        return feed.watched();
      },
      append: (...given: Parameters<LocalLiveFeed['append']>) => feed.append(...given),
    };
    live = new LiveEvents({ feed: counted, tenantOf: () => undefined, clock });
    for (let page = 0; page < 10; page++) {
      call('opened');
      live.onWatched();
      await clock.pass(150);
    }
    questions = 0;
    for (let time = 0; time < 20_000; time += 10) {
      call('busy');
      await clock.pass(10);
    }
    expect(questions).toBeLessThanOrEqual(11);
  });

  it('reach a tenant who goes on watching, whatever other tenants send during the next question', async () => {
    await feed.watch('acme');
    call('first');
    await clock.pass(2_000);
    for (let n = 0; n < 10_000; n++) live.add('taken', { name: 'event', tenant: `tenant ${n}` });
    for (let n = 0; n < 60; n++) live.add('taken', { name: 'event', tenant: 'acme' });
    await clock.pass(1_000);
    // All events are counted. At most fifty are shown at once.
    expect(await feed.watch('acme')).toBe(60);
    expect(await feed.read('acme', 0)).toHaveLength(50);
  });

  it('reach a tenant who goes on watching, even after a question that was not answered', async () => {
    await feed.watch('acme');
    let isAway = false;
    const failing = {
      watched: () => (isAway ? Promise.reject(new Error('away')) : feed.watched()),
      append: (...given: Parameters<LocalLiveFeed['append']>) => feed.append(...given),
    };
    live = new LiveEvents({ feed: failing, tenantOf: () => undefined, clock });
    call('first');
    await clock.pass(2_000);
    isAway = true;
    call('unanswered');
    await clock.pass(2_000);
    isAway = false;
    for (let n = 0; n < 10_000; n++) live.add('taken', { name: 'event', tenant: `tenant ${n}` });
    live.add('taken', { name: 'event', tenant: 'acme' });
    await clock.pass(1_000);
    expect(await feed.read('acme', 0)).toHaveLength(1);
  });

  describe('while it is not known whether anybody watches', () => {
    /** Events added for each scope once all scopes are known to be watched, by the scope. */
    const added = new Map<string, { events: readonly string[]; skipped: number }>();
    /** Adds this many calls, each of the tenant that its number gives. */
    async function addOf(calls: number, tenantOf: (call: number) => string): Promise<void> {
      added.clear();
      let call = 0;
      const all = [ALL_EVENTS, ...Array.from({ length: calls }, (_, n) => tenantOf(n))];
      const busy = {
        watched: () => Promise.resolve(all),
        append: (scope: string, events: readonly string[], skipped: number) => {
          added.set(scope, { events, skipped });
          return Promise.resolve();
        },
      };
      live = new LiveEvents({ feed: busy, tenantOf: () => tenantOf(call), clock });
      const message = createMessage();
      for (; call < calls; call++) live.add('dropped', { message });
      // The answer comes after all calls were made.
      await new Promise(setImmediate);
    }

    const countOf = (scope: string): number => {
      const { events = [], skipped = 0 } = added.get(scope) ?? {};
      return events.length + skipped;
    };

    it('take memory for a limited number only, and are counted for each tenant', async () => {
      await addOf(2_000, (call) => `tenant ${call}`);
      const texts = new Set([...added.values()].flatMap(({ events }) => events));
      expect(texts.size).toBe(500);
      expect([...added.keys()].filter((scope) => countOf(scope) === 1)).toHaveLength(2_000);
      expect(added.get(ALL_EVENTS)).toMatchObject({ events: { length: 50 }, skipped: 1_950 });
    });

    it('take no memory for further tenants beyond ten thousand scopes', async () => {
      await addOf(20_000, (call) => `tenant ${call}`);
      expect(added.size).toBe(10_000);
      expect(countOf(ALL_EVENTS)).toBe(20_000);
    });

    it('are kept for one tenant, however many events another tenant had before', async () => {
      await addOf(1_001, (call) => (call < 1_000 ? 'other' : 'acme'));
      expect(added.get('acme')).toMatchObject({ events: { length: 1 }, skipped: 0 });
      expect(added.get('other')).toMatchObject({ events: { length: 50 }, skipped: 950 });
    });
  });
});
