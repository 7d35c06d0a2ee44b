import { beforeEach, describe, expect, it } from '@jest/globals';
import { type KeptFor, KeptMessages } from '../../src/stored-destinations/kept-messages.js';
import { FakeClock } from '../support/fake-clock.js';

const silent = { onFailed: () => undefined, onSkipped: () => undefined, onLost: () => undefined };

describe('the messages kept for disabled destinations', () => {
  let clock: FakeClock;
  let kept: KeptMessages;
  let replays: (string | readonly KeptFor[])[];
  let lost: readonly KeptFor[];
  let failures: unknown[];
  /** The ids of destinations that cannot be looked up, and the reports about them. */
  let skipped: string[];
  let told: (readonly KeptFor[])[];
  let becomes: Promise<unknown>;

  beforeEach(() => {
    clock = new FakeClock();
    [replays, lost, failures, skipped, told] = [[], [], [], [], []];
    becomes = Promise.resolve();
    const replay = (what: (typeof replays)[number]): Promise<unknown> => {
      replays.push(what);
      return becomes;
    };
    kept = new KeptMessages({
      replay,
      replayAll: (destinations) => replay(destinations).then(() => skipped),
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
    kept = new KeptMessages({ ...silent, replay: scan, replayAll: () => scan().then(() => []), clock });
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

  it('are reported if they cannot be read, and are looked for after the next change', async () => {
    kept.deliverLate({ tenant: 'acme' });
    becomes = Promise.reject(new Error('away'));
    await clock.pass(3_000);
    expect(failures).toEqual([new Error('away')]);
    becomes = Promise.resolve();
    kept.deliverLate({ tenant: 'acme' });
    await clock.pass(3_000);
    expect(replays).toHaveLength(2);
    expect(failures).toHaveLength(1);
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
