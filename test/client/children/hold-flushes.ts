import { heldBytes } from '../../support/heap.js';
import { clientUnderTest } from '../client-under-test.js';

const FLUSHES = 10_000;
const MEBIBYTE = 2 ** 20;

/** Bytes that the flushes add if they time out one after another, with a message each, while the queue hangs. */
async function oneAfterTheOther(): Promise<number> {
  const { client, clock, queue, track } = clientUnderTest();
  queue.delay = Infinity;
  track('first');
  void client.flush();
  await clock.pass(1);
  const before = await heldBytes();
  for (let n = 0; n < FLUSHES; n++) {
    track(`m-${n}`);
    const flushed = client.flush({ timeout: 1 });
    await clock.pass(1);
    await flushed;
  }
  const after = await heldBytes();
  client.drain(1);
  return after - before;
}

/** Bytes that the flushes add if they all wait at once. */
async function allAtOnce(): Promise<number> {
  const { client, queue, track } = clientUnderTest();
  queue.delay = Infinity;
  const before = await heldBytes();
  const flushes = [];
  for (let n = 0; n < FLUSHES; n++) {
    track(`m-${n}`);
    flushes.push(client.flush({ timeout: 1_000 }));
  }
  const held = (await heldBytes()) - before;
  client.drain(1);
  return flushes.length === FLUSHES ? held : NaN;
}

const held = [await oneAfterTheOther(), await allAtOnce()];
console.log(`held ${held.map((bytes) => (bytes / MEBIBYTE).toFixed(1)).join(' ')} MB`);
process.exit();
