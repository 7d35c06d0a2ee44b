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

describe('events that somebody watches', () => {
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
    if (live.wants()) live.add('taken', { name });
  }

  /** How many there have been, also of those that were only counted. */
  async function numberOfLatest(): Promise<number> {
    return feed.watch(ALL_EVENTS);
  }

  it('go on in a busy process, which has more of them than it shows', async () => {
    for (let turn = 0; turn < 100; turn++) {
      for (let n = 0; n < 60; n++) call(`event ${turn}`);
      await clock.pass(100);
      await feed.watch(ALL_EVENTS);
    }
    await clock.pass(1_000);
    expect(await numberOfLatest()).toBe(6_000);
  });

  it('come also when the process falls silent while it asks anew whether anybody watches', async () => {
    call('first');
    await clock.pass(1_900);
    call('last');
    await clock.pass(1_000);
    expect(await numberOfLatest()).toBe(2);
  });

  it('take no memory beyond a few while it is not known whether anybody watches', () => {
    let looked = 0;
    const silent = {
      watched: () => new Promise<string[]>(() => undefined),
      append: () => Promise.resolve(),
    };
    live = new LiveEvents({ feed: silent, tenantOf: () => `tenant ${looked++}`, clock });
    const message = createMessage();
    for (let n = 0; n < 1_000; n++) live.add('dropped', { message });
    expect(looked).toBe(50);
  });
});
