import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { within } from '../../src/shared/within.js';

/** A thread that answers each message at once. */
const ECHO = `
  const { parentPort } = require('node:worker_threads');
  parentPort.on('message', (message) => parentPort.postMessage(message));
  parentPort.postMessage('ready');`;

/** Keeps the event loop from turning. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

describe('work with a time limit', () => {
  let worker: Worker;

  beforeEach(async () => {
    worker = new Worker(ECHO, { eval: true });
    await once(worker, 'message');
  });
  afterEach(async () => {
    await worker.terminate();
  });

  async function answer(): Promise<unknown> {
    const answered = once(worker, 'message');
    worker.postMessage('asked');
    const [message] = (await answered) as unknown[];
    return message;
  }

  it('counts an answer that arrived while the process stood still for longer than the limit', async () => {
    // Timers are the next that the event loop looks at.
    await new Promise((resolve) => setImmediate(resolve));
    const result = within(200, answer());
    standStill(1_000);
    expect(await result).toBe('asked');
  });

  it('is given up when the time is over', async () => {
    expect(await within(10, new Promise(() => undefined))).toBeUndefined();
  });

  it('rejects as the work does', async () => {
    await expect(within(60_000, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });
});
