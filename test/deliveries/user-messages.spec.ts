import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { userKey } from '../../src/deliveries/deletion-key.js';
import { UserMessages } from '../../src/deliveries/user-messages.js';
import type { BatchState, StoredJob } from '../../src/queue/batch-store.js';

const PAGES = 3;
const ON_A_PAGE = 20;

/** A queue with a few pages of failed jobs, which take a while to read. */
class SlowStore {
  /** The reads of ids and jobs, in order. */
  readonly asked: string[] = [];
  /** Total duration of the reads, in milliseconds. */
  reading = 0;

  /** @param duration of each reading, in milliseconds */
  constructor(private readonly duration = 10) {}

  async *ids(state: BatchState): AsyncGenerator<string[], void> {
    for (let page = 0; page < PAGES && state === 'failed'; page++) {
      this.asked.push('ids');
      yield await Promise.resolve(Array.from({ length: ON_A_PAGE }, (_, n) => `${page}-${n}`));
    }
  }

  async read(ids: readonly string[]): Promise<StoredJob[]> {
    this.asked.push(`${ids.length} jobs`);
    const startedAt = performance.now();
    await sleep(this.duration);
    this.reading += performance.now() - startedAt;
    return [];
  }

  isActive(): Promise<boolean> {
    return Promise.resolve(false);
  }

  removeWhere(): Promise<[]> {
    return Promise.resolve([]);
  }
}

it('a deletion reads jobs page by page, and leaves the queue to other work most of the time', async () => {
  const store = new SlowStore();
  const messages = new UserMessages(store, () => undefined);
  const startedAt = performance.now();
  const deleted = new Map([[userKey('gone'), Date.now()]]);
  let advances = 0;
  const count = (): void => {
    advances++;
  };
  expect(await messages.erase(deleted, new AbortController().signal, count)).toBe(true);
  const duration = performance.now() - startedAt;
  const page = ['ids', '10 jobs', '10 jobs'];
  expect(store.asked).toEqual([...page, ...page, ...page]);
  expect(advances).toBeGreaterThanOrEqual(PAGES * 2);
  expect(store.reading / duration).toBeLessThan(1 / 2);
});

it('a deletion shows that it is not stuck while it leaves the queue to other work', async () => {
  const store = new SlowStore(400);
  const stop = new AbortController();
  let advances = 0;
  const count = (): void => {
    // The first pause takes at least 1,200 ms.
    if (++advances === 3) stop.abort();
  };
  const deleted = new Map([[userKey('gone'), Date.now()]]);
  expect(await new UserMessages(store, () => undefined).erase(deleted, stop.signal, count)).toBe(false);
  expect(store.asked).toEqual(['ids', '10 jobs']);
});

it('a deletion finds a job that is put back into a page it has read, and reads no other job twice', async () => {
  const read: string[] = [];
  const removedFrom: string[] = [];
  let looks = 0;
  const store = {
    async *ids(state: BatchState): AsyncGenerator<string[], void> {
      if (state !== 'delayed') return;
      looks++;
      yield await Promise.resolve(looks === 1 ? ['early'] : ['put back', 'early']);
    },
    read(ids: readonly string[]): Promise<StoredJob[]> {
      read.push(...ids);
      const messages = [{ id: 'm1', body: '{"type":"track","userId":"gone"}', outcomes: [] }];
      const batch = { destination: 'webhooks', source: 'default', messages };
      return Promise.resolve(
        ids.map((jobId) => ({
          jobId,
          addedAt: 0,
          batches: jobId === 'put back' ? [batch] : [],
          unreadable: undefined,
          failedReason: undefined,
          failedAt: undefined,
          failedRetention: 0,
        })),
      );
    },
    isActive: () => Promise.resolve(false),
    removeWhere: (jobId: string): Promise<[]> => {
      removedFrom.push(jobId);
      return Promise.resolve([]);
    },
  };
  const messages = new UserMessages(store, () => undefined);
  await messages.erase(new Map([[userKey('gone'), Date.now()]]), new AbortController().signal);
  expect(removedFrom).toEqual(['put back']);
  expect(read).toEqual(['early', 'put back']);
});
