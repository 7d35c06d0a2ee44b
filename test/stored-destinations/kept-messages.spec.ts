import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KeptFor } from '../../src/stored-destinations/kept-for.js';
import { KeptMessages, type KeptMessagesParts } from '../../src/stored-destinations/kept-messages.js';
import { FakeClock } from '../support/fake-clock.js';

const NONE: ReadonlySet<string> = new Set();
const silent = { onFailed: () => undefined, onSkipped: () => undefined, onLost: () => undefined };

describe('the messages kept for disabled destinations', () => {
  let clock: FakeClock;
  let kept: KeptMessages;
  let replays: (string | readonly KeptFor[])[];
  let lost: readonly KeptFor[];
  let failures: unknown[];
  /** The ids of destinations with kept messages that are enabled, and of those that cannot be looked up. */
  let enabled: string[];
  let skipped: string[];
  /** The reports about the latter. */
  let told: (readonly KeptFor[])[];
  let find: KeptMessagesParts['find'];
  /** What becomes of searches, and of replays. */
  let searched: Promise<unknown>;
  let becomes: Promise<unknown>;

  beforeEach(() => {
    clock = new FakeClock();
    [replays, lost, failures, enabled, skipped, told] = [[], [], [], [], [], []];
    searched = becomes = Promise.resolve();
    find = (id) => (skipped.includes(id) ? Promise.reject(new Error('no answer')) : Promise.resolve({}));
    kept = new KeptMessages({
      replay: (id) => {
        replays.push(id);
        return becomes;
      },
      search: async (among) => {
        replays.push(among);
        await searched;
        return new Set([...enabled, ...skipped]);
      },
      find: (id, among) => find(id, among),
      onFailed: (_, error) => failures.push(error),
      onSkipped: (destinations) => told.push(destinations),
      onLost: (destinations) => (lost = destinations),
      clock,
    });
  });

  it('are delivered at once, and again when every process knows that their destinations are enabled', async () => {
    await kept.deliver('a');
    expect(replays).toEqual(['a']);
    await clock.pass(2_999);
    expect(replays).toEqual(['a']);
    await clock.pass(1);
    await clock.pass(60_000);
    expect(replays).toEqual(['a', [{ id: 'a' }]]);
  });

  it('are looked for together when they are due, and again for destinations that changed meanwhile', async () => {
    kept.deliverLate({ tenant: 'acme' });
    kept.deliverLate({ tenant: undefined });
    await clock.pass(1_000);
    kept.deliverLate({ tenant: 'acme' });
    await clock.pass(2_000);
    expect(replays).toEqual([[{ tenant: 'acme' }, { tenant: undefined }]]);
    await clock.pass(1_000);
    expect(replays.slice(1)).toEqual([[{ tenant: 'acme' }]]);
  });

  it('are looked for only part of the time, however often something changes, and at once at the end', async () => {
    let scanning = 0;
    const scan = (): Promise<void> => {
      const begun = clock.now();
      return new Promise((resolve) => {
        clock.after(1_000, () => {
          scanning += clock.now() - begun;
          resolve();
        });
      });
    };
    const search = (): Promise<ReadonlySet<string>> => scan().then(() => NONE);
    kept = new KeptMessages({ ...silent, replay: scan, search, find: () => Promise.resolve({}), clock });
    for (let n = 0; n < 1_000; n++) {
      kept.deliverLate({ tenant: `tenant-${n}` });
      await clock.pass(100);
    }
    expect(scanning).toBeGreaterThan(0);
    expect(scanning).toBeLessThan(50_000);
    let isOver = false;
    void kept.finish(60_000).then(() => (isOver = true));
    await clock.pass(5_000);
    expect(isOver).toBe(true);
  });

  it('of a destination with very many are delivered while others are looked for and delivered', async () => {
    becomes = new Promise(() => undefined);
    enabled = ['big'];
    kept.deliverLate({ tenant: 'acme' });
    await clock.pass(3_000);
    becomes = Promise.resolve();
    enabled = ['small'];
    kept.deliverLate({ tenant: 'other' });
    await clock.pass(3_000);
    expect(replays).toEqual([[{ tenant: 'acme' }], 'big', [{ tenant: 'other' }], 'small']);
    await kept.finish(0);
    kept.close();
    expect(lost).toEqual([{ id: 'big' }]);
  });

  it('are delivered together once their destinations are looked up, but a second after the first at the latest', async () => {
    const answers: (() => void)[] = [];
    find = (id) =>
      new Promise((resolve) => {
        if (id !== 'hangs')
          answers.push(() => {
            resolve({});
          });
      });
    enabled = ['hangs', 'quick', 'slow'];
    kept.deliverLate({ tenant: undefined });
    await clock.pass(3_000);
    const [answerQuick, answerSlow] = answers;
    answerQuick?.();
    await clock.pass(999);
    expect(replays).toHaveLength(1);
    await clock.pass(1);
    expect(replays.slice(1)).toEqual(['quick']);
    answerSlow?.();
    await clock.pass(0);
    expect(replays.slice(1)).toEqual(['quick', 'slow']);
    kept.close();
    expect(lost).toEqual([{ tenant: undefined }]);
  });

  it('are looked for before the end, which waits for them', async () => {
    await kept.deliver('a');
    let isOver = false;
    const finished = kept.finish(60_000).then(() => (isOver = true));
    await clock.pass(2_999);
    expect(isOver).toBe(false);
    await clock.pass(1);
    await finished;
    kept.close();
    expect(replays).toEqual(['a', [{ id: 'a' }]]);
    expect(lost).toEqual([]);
  });

  it('are reported if the time is over before they were looked for', async () => {
    await kept.deliver('a');
    await kept.finish(0);
    kept.close();
    await clock.pass(60_000);
    expect(replays).toEqual(['a']);
    expect(lost).toEqual([{ id: 'a' }]);
  });

  it('are reported if the time is over before they were delivered for the first time', async () => {
    becomes = new Promise(() => undefined);
    void kept.deliver('a');
    void kept.deliver('b');
    void kept.deliver('a');
    await kept.finish(0);
    kept.close();
    expect(lost).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  it('are reported if they were asked for after the end', async () => {
    kept.close();
    await kept.deliver('a');
    expect(replays).toEqual([]);
    expect(lost).toEqual([{ id: 'a' }]);
  });

  it('are delivered before the end, which then waits until they were looked for again', async () => {
    let deliver: (value?: unknown) => void = () => undefined;
    becomes = new Promise((resolve) => (deliver = resolve));
    const delivered = kept.deliver('a');
    let isOver = false;
    const finished = kept.finish(60_000).then(() => (isOver = true));
    await clock.pass(10_000);
    expect(isOver).toBe(false);
    deliver();
    await delivered;
    await clock.pass(2_999);
    expect(isOver).toBe(false);
    await clock.pass(1);
    await finished;
    kept.close();
    expect(replays).toEqual(['a', [{ id: 'a' }]]);
    expect(lost).toEqual([]);
  });

  it('are looked for again even if they could not be delivered at once', async () => {
    becomes = Promise.reject(new Error('away'));
    await expect(kept.deliver('a')).rejects.toThrow('away');
    becomes = Promise.resolve();
    await clock.pass(3_000);
    expect(replays).toEqual(['a', [{ id: 'a' }]]);
    expect(failures).toEqual([]);
  });

  it('are looked for again until they can be read, ever more rarely, and one report says so', async () => {
    kept.deliverLate({ tenant: 'acme' });
    searched = Promise.reject(new Error('away'));
    await clock.pass(3_000);
    await clock.pass(6_000);
    await clock.pass(600_000);
    expect(replays.length).toBeGreaterThan(4);
    expect(replays.length).toBeLessThan(12);
    expect(told).toEqual([[{ tenant: 'acme' }]]);
    searched = Promise.resolve();
    enabled = ['a'];
    await clock.pass(300_000);
    expect(replays.at(-1)).toBe('a');
    const { length } = replays;
    await clock.pass(3_600_000);
    expect(replays).toHaveLength(length);
    expect(failures).toEqual([]);
  });

  it('are waited for once while one delivery takes long, however many searches find them', async () => {
    let fail: (error: Error) => void = () => undefined;
    becomes = new Promise((_, reject) => (fail = reject));
    enabled = ['a'];
    for (let search = 0; search < 3; search++) {
      kept.deliverLate({ tenant: 'acme' });
      await clock.pass(3_000);
    }
    fail(new Error('away'));
    await clock.pass(0);
    expect(replays.filter((one) => one === 'a')).toHaveLength(3);
    expect(told).toEqual([[{ id: 'a' }]]);
  });

  it('are looked for again if their destination could not be looked up, separately and ever more rarely', async () => {
    skipped = ['a'];
    kept.deliverLate({ tenant: 'acme' });
    await clock.pass(3_000);
    await clock.pass(6_000);
    await clock.pass(12_000);
    expect(replays).toEqual([[{ tenant: 'acme' }], [{ id: 'a' }], [{ id: 'a' }]]);
    expect(told).toEqual([[{ id: 'a' }]]);
    await clock.pass(3_600_000);
    expect(replays.length).toBeLessThan(25);
    skipped = [];
    await clock.pass(300_000);
    const { length } = replays;
    await clock.pass(3_600_000);
    expect(replays).toHaveLength(length);
    expect(told).toHaveLength(1);
  });

  it('are looked for soon after a change, however long their destination could not be looked up', async () => {
    skipped = ['a'];
    kept.deliverLate({ id: 'a' });
    await clock.pass(600_000);
    replays.length = 0;
    kept.deliverLate({ tenant: 'acme' });
    kept.deliverLate({ id: 'a' });
    await clock.pass(3_000);
    expect(replays).toEqual([expect.arrayContaining([{ id: 'a' }, { tenant: 'acme' }])]);
  });

  it('are reported at the end, which does not wait for them, if their destination could not be looked up', async () => {
    skipped = ['a', 'b'];
    kept.deliverLate({ id: 'a' });
    await clock.pass(600_000);
    kept.deliverLate({ tenant: 'acme' });
    let isOver = false;
    const finished = kept.finish(60_000).then(() => (isOver = true));
    await clock.pass(3_000);
    expect(isOver).toBe(true);
    await finished;
    kept.close();
    expect(replays.at(-1)).toEqual([{ tenant: 'acme' }]);
    expect(lost).toEqual([{ id: 'a' }, { id: 'b' }]);
    await clock.pass(600_000);
    expect(clock.pending).toBe(0);
  });
});
