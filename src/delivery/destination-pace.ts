import type { Destination } from '../destinations/destination.js';
import type { DestinationWindow } from './destination-window.js';

/** Work that a process holds for one destination, in milliseconds: enough that it never runs dry. */
const HOLD = 2_000;
/**
 * When a destination has less to send than this, its put-back jobs are promoted, in milliseconds. Another process may take
 * a promoted job. That is noticed after a quarter of a second or more, and must not leave the destination idle.
 */
const LOW_WATER = 1_000;

/** A destination, and what is known of how fast it takes messages. */
interface Paced {
  destination: Destination;
  window: DestinationWindow;
}

/** Messages a second that a destination's `rateLimit` allows; `undefined` without one. Each URL is a request. */
export function limitOf({ rateLimit, origins }: Destination): number | undefined {
  return rateLimit === undefined ? undefined : rateLimit / Math.max(origins.length, 1);
}

/** The largest number of messages that a batch for a destination may hold; Infinity without a `rateLimit`. */
export function messagesAtOnce(destination: Destination): number {
  const limit = limitOf(destination);
  return limit === undefined ? Infinity : Math.max(1, Math.floor((limit * HOLD) / 1_000));
}

/** Messages a second that a destination takes; `undefined` while unknown. */
export function rateOf({ destination, window }: Paced): number | undefined {
  return limitOf(destination) ?? window.rate;
}

/** Unsent messages with which a destination has enough to do. */
export function enoughFor({ destination, window }: Paced): number {
  const limit = limitOf(destination);
  if (limit !== undefined) return messagesAtOnce(destination);
  return Math.max(2 * window.requests, ((window.rate ?? 0) * HOLD) / 1_000);
}

/** Unsent messages below which a destination gets more to do. */
export function leastFor({ destination, window }: Paced): number {
  const limit = limitOf(destination);
  if (limit !== undefined) return Math.max(1, (limit * LOW_WATER) / 1_000);
  return Math.max(2 * window.requests, ((window.rate ?? 0) * LOW_WATER) / 1_000);
}

/** Requests that a message may be at once: one to each URL. */
export function requestsFor({ origins }: Destination): number {
  return Math.max(origins.length, 1);
}
