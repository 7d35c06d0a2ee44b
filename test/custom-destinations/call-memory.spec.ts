import { beforeEach, describe, expect, it } from '@jest/globals';
import { CallMemory } from '../../src/custom-destinations/call-memory.js';

/** With room for eight of the largest calls. */
const BYTES = 30_000;

describe('the memory of the calls of custom destinations', () => {
  let memory: CallMemory;
  let largest: number;
  /** The calls that have begun and not ended, in their order. */
  let running: Map<string, () => void>;

  beforeEach(() => {
    memory = new CallMemory(BYTES);
    largest = memory.mostOfCall;
    running = new Map();
  });

  function call(destination: string, name = destination, size = largest): Promise<void> {
    return memory.run(
      destination,
      size,
      () =>
        new Promise((resolve) => {
          running.set(name, resolve);
        }),
    );
  }

  async function calls(destination: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) void call(destination, `${destination}${n}`);
    await settled();
  }

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  async function end(name: string): Promise<void> {
    running.get(name)?.();
    running.delete(name);
    await settled();
  }

  it('is enough for eight of the largest calls, and for more that are smaller', async () => {
    await calls('a', 16);
    expect(running.size).toBe(8);
    running.clear();
    memory = new CallMemory(BYTES);
    for (let n = 0; n < 20; n++) void call('a', `a${n}`, largest / 2);
    await settled();
    expect(running.size).toBe(16);
  });

  it('has room for a call of each destination, however much those of others hold', async () => {
    await calls('slow', 16);
    await calls('b', 2);
    await calls('c', 2);
    expect([...running.keys()].slice(8)).toEqual(['b0', 'c0']);
    await end('b0');
    expect([...running.keys()].slice(8)).toEqual(['c0', 'b1']);
  });

  it('has room for one call that is larger than all of it', async () => {
    void call('a', 'huge', 100 * largest);
    void call('a', 'small', 1);
    await settled();
    expect([...running.keys()]).toEqual(['huge']);
    await end('huge');
    expect([...running.keys()]).toEqual(['small']);
  });

  it('is given to the destination next that holds the least', async () => {
    await calls('greedy', 16);
    await calls('modest', 3);
    expect([...running.keys()].slice(8)).toEqual(['modest0']);
    await end('greedy0');
    await end('greedy1');
    expect([...running.keys()].slice(6)).toEqual(['modest0', 'modest1']);
    await end('greedy2');
    expect([...running.keys()].slice(5)).toEqual(['modest0', 'modest1', 'modest2']);
    await end('greedy3');
    expect([...running.keys()].slice(4)).toEqual(['modest0', 'modest1', 'modest2', 'greedy8']);
  });

  it('is free again after a call that failed', async () => {
    const failed = memory.run('a', 8 * largest, () => Promise.reject(new Error('away')));
    const next = call('a');
    await expect(failed).rejects.toThrow('away');
    await settled();
    expect([...running.keys()]).toEqual(['a']);
    await end('a');
    await next;
  });
});
