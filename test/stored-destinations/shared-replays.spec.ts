import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KeptSelection } from '../../src/deliveries/replay.js';
import { SharedReplays } from '../../src/stored-destinations/shared-replays.js';

/** More batches of one message than an owner gets while others wait. */
const MANY = 10_000;

describe('replays of messages kept for destinations', () => {
  let begun: string[][];
  let selections: KeptSelection[];
  let ends: (() => void)[];
  let skipped: Map<string, Error>;
  let replays: SharedReplays;

  beforeEach(() => {
    jest.useFakeTimers();
    [begun, selections, ends] = [[], [], []];
    skipped = new Map();
    replays = new SharedReplays((selection) => {
      begun.push([...selection.ids]);
      selections.push(selection);
      const { signal } = selection;
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
        ends.push(() => {
          resolve(skipped);
        });
      });
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Delivers batches of a destination in a round. Returns how many the round takes. */
  function take(round: number, id: string, batches: number, messages = 1): number {
    let taken = 0;
    for (let n = 0; n < batches; n++) if (selections[round]?.takes(id, messages) === true) taken++;
    return taken;
  }

  it('begin when the previous replay is done, for all callers in the meantime', async () => {
    void replays.of('first', 'acme');
    await jest.advanceTimersByTimeAsync(0);
    void replays.of('second', 'globex');
    void replays.of('third', 'initech');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual([['first']]);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual([['first'], ['second', 'third']]);
  });

  it('do not wait for a replay that takes long', async () => {
    void replays.of('of many messages', 'acme');
    await jest.advanceTimersByTimeAsync(0);
    void replays.of('of another tenant', 'globex');
    await jest.advanceTimersByTimeAsync(6_000);
    expect(begun).toEqual([['of many messages'], ['of another tenant']]);
  });

  it('reject for the destination that could not be looked up, and for no other', async () => {
    const done = Promise.allSettled([replays.of('hangs', 'acme'), replays.of('answers', 'acme')]);
    await jest.advanceTimersByTimeAsync(0);
    skipped.set('hangs', new Error('no answer'));
    ends[0]?.();
    expect(await done).toMatchObject([{ reason: new Error('no answer') }, { status: 'fulfilled' }]);
  });

  it('are at most three at once, and the next replay is for all callers in the meantime', async () => {
    for (const id of ['first', 'second', 'third', 'fourth', 'fifth']) {
      void replays.of(id, `tenant of the ${id}`);
      await jest.advanceTimersByTimeAsync(6_000);
    }
    expect(begun).toEqual([['first'], ['second'], ['third']]);
    ends[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun.slice(3)).toEqual([['fourth', 'fifth']]);
  });

  it('are one at a time for each tenant, so that a tenant who asks again and again holds up no other', async () => {
    for (const id of ['first', 'first', 'first', 'second']) {
      void replays.of(id, 'acme');
      await jest.advanceTimersByTimeAsync(6_000);
    }
    void replays.of('other', 'globex');
    await jest.advanceTimersByTimeAsync(6_000);
    expect(begun).toEqual([['first'], ['other']]);
  });

  it('look once more for messages that were kept during the replay that is running', async () => {
    void replays.of('first', 'acme');
    await jest.advanceTimersByTimeAsync(0);
    let done = 0;
    for (let calls = 0; calls < 2; calls++) void replays.of('first', 'acme').then(() => done++);
    await jest.advanceTimersByTimeAsync(60_000);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect([begun, done]).toEqual([[['first'], ['first']], 0]);
    ends[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect([begun.length, done]).toEqual([2, 2]);
  });

  it('share one wait for the running replay, however often a destination is asked for', async () => {
    void replays.of('a', 'acme');
    await jest.advanceTimersByTimeAsync(0);
    const waiting = new Set(Array.from({ length: 1_000 }, () => replays.of('a', 'acme')));
    expect(waiting.size).toBe(1);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual([['a'], ['a']]);
    ends[1]?.();
    await Promise.all(waiting);
  });

  it('deliver a share of the messages of a tenant with very many, and then those of others in the same replay', async () => {
    let isDone = false;
    void replays.of('big', 'acme').then(() => (isDone = true));
    void replays.of('small', 'globex');
    await jest.advanceTimersByTimeAsync(0);
    const share = take(0, 'big', MANY);
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(MANY / 2);
    expect([take(0, 'small', 10), take(0, 'stranger', 10)]).toEqual([10, 0]);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect([begun.slice(1), isDone]).toEqual([[['big']], false]);
    expect(take(1, 'big', MANY)).toBe(MANY);
    ends[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(isDone).toBe(true);
  });

  it('deliver a share that takes about as long if the messages are in large batches', async () => {
    void replays.of('big', 'acme');
    void replays.of('also big', 'globex');
    await jest.advanceTimersByTimeAsync(0);
    const messages = take(0, 'big', MANY);
    expect(take(0, 'also big', MANY, 200) * 200).toBeLessThan(6 * messages);
  });

  it('of very many messages end early and go on later, if a tenant waits while three are running', async () => {
    const done: string[] = [];
    for (const id of ['first', 'second', 'third']) {
      void replays.of(id, `tenant of the ${id}`).then(() => done.push(id));
      await jest.advanceTimersByTimeAsync(6_000);
      expect(take(begun.length - 1, id, MANY)).toBe(MANY);
    }
    void replays.of('fourth', 'tenant of the fourth').then(() => done.push('fourth'));
    await jest.advanceTimersByTimeAsync(6_000);
    expect(take(1, 'second', 10)).toBe(0);
    await jest.advanceTimersByTimeAsync(0);
    expect(begun.slice(3)).toEqual([['fourth', 'second']]);
    ends[3]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(done.sort()).toEqual(['fourth', 'second']);
    for (const end of ends) end();
    await jest.advanceTimersByTimeAsync(0);
    expect(done.sort()).toEqual(['first', 'fourth', 'second', 'third']);
  });
});
