import type { Destination } from '../destinations/destination.js';
import { rateOf } from './destination-pace.js';
import type { DestinationQueue } from './destination-queue.js';

/** Shortest time for which a batch is put back, in milliseconds. */
export const LEAST_DELAY = 250;
/** How long a batch is put back if the rate of its destination is unknown, in milliseconds. */
const UNKNOWN_RATE_DELAY = 1_000;
/** Longest time for which a batch is put back unless very many wait, in milliseconds: the estimate may be wrong. */
const LONGEST_DELAY = 300_000;
/** The same as a share of the retry window, if that is longer. */
const LONGEST_DELAY_SHARE = 1 / 48;
/** Batches that wait for one destination look again one by one at this interval, in milliseconds. */
const LOOK_INTERVAL = 50;
/** Longest time between two looks of a batch whose URLs are held back, as a share of the retry window. */
const LONGEST_LOOK_SHARE = 1 / 2;

/**
 * Returns how long a batch goes back to the queue, in milliseconds: until its destination should be done with the work
 * before it. The more batches of a destination wait, the more rarely each of them looks again, whatever `retryWindow`
 * their owner has chosen: each look is work for the queue, which all destinations share. A batch is promoted if its
 * destination is faster.
 *
 * @param others destinations that wait for places, this one included; 0 if the batch waits for its own destination only
 */
export function putBackDelay(queue: DestinationQueue, others: number): number {
  const { destination, putBack, batches } = queue;
  const spread = (putBack.size + others) * LOOK_INTERVAL;
  // While requests fail, their rate does not show when the destination will take messages again.
  const rate = queue.window.isFailing ? undefined : rateOf(queue);
  const ahead = rate === undefined ? 0 : ((batches.messages + putBack.messages) / rate) * 1_000;
  const isEstimated = rate !== undefined && others === 0;
  const least = isEstimated ? LEAST_DELAY : Math.max(UNKNOWN_RATE_DELAY, spread) * (0.5 + Math.random());
  const delay = Math.max(ahead, least);
  const longest = Math.max(LONGEST_DELAY, destination.retryWindow * LONGEST_DELAY_SHARE, spread);
  return limitedDelay(delay, longest);
}

/** Returns how long a batch waits if its URLs are held back for `wait` milliseconds, and so many others wait as well. */
export function lookDelay({ retryWindow }: Destination, others: number, wait: number): number {
  return Math.max(wait, Math.min(others * LOOK_INTERVAL, retryWindow * LONGEST_LOOK_SHARE));
}

/**
 * Limits a delay, and rounds it up to whole milliseconds: not every queue takes fractions. Jobs that would need a
 * longer delay do not all return at the same moment.
 */
export function limitedDelay(delay: number, longest = LONGEST_DELAY): number {
  return Math.ceil(Math.min(delay, longest * (0.5 + Math.random() / 2)));
}
