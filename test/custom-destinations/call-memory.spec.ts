import { beforeEach, describe, expect, it } from '@jest/globals';
import { CallMemory } from '../../src/custom-destinations/call-memory.js';

/** Room for eight of the largest calls. */
const BYTES = 30_000;

describe('the memory for calls of custom destinations', () => {
  let memory: CallMemory;
  let largest: number;
  /** Calls that have started and not ended, in the order of their start. */
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

  it('has room for eight of the largest calls, or for more calls if they are smaller', async () => {
    await calls('a', 16);
    expect(running.size).toBe(8);
    running.clear();
    memory = new CallMemory(BYTES);
    for (let n = 0; n < 20; n++) void call('a', `a${n}`, largest / 2);
    await settled();
    expect(running.size).toBe(16);
  });

  it('has room for a call of each destination, however much the calls of other destinations hold', async () => {
    await calls('slow', 16);
    await calls('b', 2);
    await calls('c', 2);
    expect([...running.keys()].slice(8)).toEqual(['b0', 'c0']);
    await end('b0');
    expect([...running.keys()].slice(8)).toEqual(['c0', 'b1']);
  });

  it('has room for a call that is larger than the whole memory, and for no other call beside it', async () => {
    void call('a', 'huge', 100 * largest);
    void call('a', 'small', 1);
    await settled();
    expect([...running.keys()]).toEqual(['huge']);
    await end('huge');
    expect([...running.keys()]).toEqual(['small']);
  });

  it('goes next to the destination that holds the least', async () => {
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
