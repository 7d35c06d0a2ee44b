import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LiveStreams } from '../../src/console/live-streams.js';
import type { LiveFeed, NumberedEvent } from '../../src/live/live-feed.js';

/** A feed that counts how often it is read. */
class CountedFeed implements LiveFeed {
  reads = 0;

  /** @param events number of new events that each reading finds */
  constructor(private readonly events: number) {}

  watched(): Promise<string[]> {
    return Promise.resolve([]);
  }

  watch(): Promise<number> {
    return Promise.resolve(0);
  }

  append(): Promise<void> {
    return Promise.resolve();
  }

  read(_scope: string, after: number): Promise<NumberedEvent[]> {
    this.reads++;
    const events = Array.from({ length: this.events }, (_, index) => ({
      number: after + index + 1,
      event: '{}',
    }));
    return Promise.resolve(events);
  }
}

describe('pages that watch live events', () => {
  let closed: AbortController;

  beforeEach(() => {
    closed = new AbortController();
    setMaxListeners(0, closed.signal);
  });
  afterEach(() => {
    jest.useRealTimers();
    closed.abort();
  });

  /** Opens pages, waits until each is ready, and resolves to how often a second the feed is read from then on. */
  async function readsPerSecond(feed: CountedFeed, tenants: number, pagesOfEach: number): Promise<number> {
    const streams = new LiveStreams({
      feed,
      live: { onWatched: () => undefined },
      logger: { error: () => undefined },
    });
    const pages = Array.from({ length: tenants * pagesOfEach }, async (_, index) => {
      const { parts } = await streams.open(`tenant-${index % tenants}`, undefined);
      const texts = parts(closed.signal)[Symbol.asyncIterator]();
      await texts.next();
      void (async () => {
        while ((await texts.next()).done !== true);
      })();
    });
    await Promise.all(pages);
    // From the second look of each page on, all pages are known.
    await sleep(600);
    const before = feed.reads;
    const since = performance.now();
    await sleep(2_000);
    return ((feed.reads - before) * 1_000) / (performance.now() - since);
  }

  it('cause at most 200 reads of the database a second, however many pages there are', async () => {
    expect(await readsPerSecond(new CountedFeed(0), 60, 10)).toBeLessThan(250);
  });

  it('do not cause reads without a pause while events come in', async () => {
    expect(await readsPerSecond(new CountedFeed(1), 1, 1)).toBeLessThan(4);
  });

  it('see events that come faster than they are read, page by page', async () => {
    expect(await readsPerSecond(new CountedFeed(100), 1, 1)).toBeLessThan(20);
  });

  it('see no more of the events that were read together once their time is over, however slowly they read', async () => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout', 'clearTimeout'],
    });
    const streams = new LiveStreams({
      feed: new CountedFeed(100),
      live: { onWatched: () => undefined },
      logger: { error: () => undefined },
    });
    const { parts } = await streams.open('acme', undefined);
    const texts = parts(closed.signal)[Symbol.asyncIterator]();
    const [ready, first] = [await texts.next(), await texts.next()];
    expect([ready.value, first.value]).toEqual([
      expect.stringContaining('event: ready'),
      expect.stringContaining('event: call'),
    ]);
    jest.advanceTimersByTime(60_000);
    expect(await texts.next()).toMatchObject({ done: true });
  });
});
