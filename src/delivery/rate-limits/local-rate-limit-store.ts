import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

/** Destinations that are remembered. What is forgotten of the others is a moment of their limit. */
const MAX_DESTINATIONS = 10_000;

/** The time of destinations in a process that has its queue for itself. */
export class LocalRateLimitStore implements RateLimitStore {
  /** Until when the time of each destination is reserved, by `performance.now()`. */
  private readonly reserved = new Map<string, number>();

  reserve(destination: string, milliseconds: number): Promise<number> {
    const now = performance.now();
    const start = Math.max(this.reserved.get(destination) ?? 0, now - CREDIT);
    if (this.reserved.size >= MAX_DESTINATIONS) this.reserved.clear();
    this.reserved.set(destination, start + milliseconds);
    return Promise.resolve(start - now);
  }
}
