import { describe, expect, it } from '@jest/globals';
import { RateLimiter, type RequestSize } from '../../../src/ingest/http/rate-limiter.js';

const NOW = 1_795_224;

const messages = (count: number): RequestSize => ({ messages: count, bytes: count * 100 });

describe('the rate limiter', () => {
  it('lets the messages of one second through at once, and then as many as the time that passes allows', () => {
    const limiter = new RateLimiter(10);
    for (let n = 0; n < 10; n++) {
      expect(limiter.wait('web', NOW)).toBe(0);
      limiter.count('web', messages(1), NOW);
    }
    limiter.count('web', messages(1), NOW);
    expect(limiter.wait('web', NOW)).toBe(100);
    expect(limiter.wait('web', NOW + 100)).toBe(0);
  });

  it('takes a request as a whole even if it exceeds the limit, and makes later requests wait for as long as it is worth', () => {
    const limiter = new RateLimiter(10);
    limiter.count('web', messages(50), NOW);
    expect(limiter.wait('web', NOW)).toBe(4_000);
    expect(limiter.wait('web', NOW + 3_999)).toBe(1);
    expect(limiter.wait('web', NOW + 4_000)).toBe(0);
  });

  it('makes a key wait no longer for requests that have begun at the same time than for the largest of them', () => {
    const limiter = new RateLimiter(10);
    for (const count of [20, 30, 5]) limiter.count('web', messages(count), NOW);
    expect(limiter.wait('web', NOW)).toBe(3_000);
    limiter.count('web', messages(20), NOW + 2_000);
    expect(limiter.wait('web', NOW + 2_000)).toBe(2_000);
  });

  it('counts each key separately, and saves up no more than a second', () => {
    const limiter = new RateLimiter(10);
    limiter.count('web', messages(20), NOW);
    expect(limiter.wait('mobile', NOW)).toBe(0);
    limiter.count('web', messages(11), NOW + 3_600_000);
    expect(limiter.wait('web', NOW + 3_600_000)).toBe(100);
  });

  it('counts a request by its bytes if its messages are larger than 1 KB', () => {
    const limiter = new RateLimiter(10);
    limiter.count('web', { messages: 1, bytes: 30 * 1024 }, NOW);
    expect(limiter.wait('web', NOW)).toBe(2_000);
  });

  it('lets a key send at once even if the clock has just started', () => {
    const limiter = new RateLimiter(10);
    limiter.count('web', messages(10), 5);
    expect(limiter.wait('web', 5)).toBe(0);
  });

  it('limits nothing if there is no limit', () => {
    const limiter = new RateLimiter(Infinity);
    limiter.count('web', messages(1_000_000), NOW);
    expect(limiter.wait('web', NOW)).toBe(0);
  });
});
