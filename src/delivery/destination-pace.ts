import type { Destination } from '../destinations/destination.js';
import type { DestinationWindow } from './destination-window.js';

/** Work that a process holds for one destination, in milliseconds: enough to keep it busy. */
const HOLD = 2_000;
/**
 * Work in hand, in milliseconds, below which a destination's put-back jobs are promoted. Another process may take a
 * promoted job. This is noticed after a quarter of a second or more, and must not leave the destination idle.
 */
const LOW_WATER = 1_000;

/** A destination, and what is known of how fast it takes messages. */
interface Paced {
  destination: Destination;
  window: DestinationWindow;
}

/** Returns the messages a second that a `rateLimit` allows; `undefined` without one. Each URL is a request. */
export function limitOf({ rateLimit, origins }: Destination): number | undefined {
  return rateLimit === undefined ? undefined : rateLimit / Math.max(origins.length, 1);
}

/** Returns how many messages of a batch may be sent at once; `Infinity` without a `rateLimit`. */
export function messagesAtOnce(destination: Destination): number {
  const limit = limitOf(destination);
  return limit === undefined ? Infinity : Math.max(1, Math.floor((limit * HOLD) / 1_000));
}

/** Returns the messages a second that a destination takes, or `undefined` if the rate is unknown. */
export function rateOf({ destination, window }: Paced): number | undefined {
  return limitOf(destination) ?? window.rate;
}

/** Returns the number of unsent messages with which a destination has enough to do. */
export function enoughFor({ destination, window }: Paced): number {
  const limit = limitOf(destination);
  if (limit !== undefined) return messagesAtOnce(destination);
  return Math.max(2 * window.requests, ((window.rate ?? 0) * HOLD) / 1_000);
}

/** Returns the number of unsent messages below which a destination gets more to do. */
export function leastFor({ destination, window }: Paced): number {
  const limit = limitOf(destination);
  if (limit !== undefined) return Math.max(1, (limit * LOW_WATER) / 1_000);
  return Math.max(2 * window.requests, ((window.rate ?? 0) * LOW_WATER) / 1_000);
}

/** Returns the number of requests that a message may need at once: one to each URL. */
export function requestsFor({ origins }: Destination): number {
  return Math.max(origins.length, 1);
}
