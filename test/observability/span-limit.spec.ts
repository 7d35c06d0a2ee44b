import { describe, expect, it } from '@jest/globals';
import { SpanLimit } from '../../src/observability/span-limit.js';

/** Asks for `count` spans of an owner. Returns how many spans the owner gets. */
function ask(limit: SpanLimit, owner: string, count: number): number {
  let made = 0;
  for (let n = 0; n < count; n++) {
    if (!limit.allows(owner)) continue;
    limit.add(owner);
    made++;
  }
  return made;
}

describe('the span limit', () => {
  it('gives one owner half of the spans, and leaves some to each further owner', () => {
    const limit = new SpanLimit(1_000, () => 0);
    const made = ['a', 'b', 'c', 'd'].map((owner) => ask(limit, owner, 5_000));
    expect(made).toEqual([500, 250, 125, 63]);
  });

  it('gives all owners all their spans below the limit', () => {
    const limit = new SpanLimit(1_000, () => 0);
    const made = Array.from({ length: 100 }, (_, index) => ask(limit, `d${index}`, 5));
    expect(made).toEqual(Array.from({ length: 100 }, () => 5));
    expect(limit.leftOut).toBe(0);
  });

  it('starts again each second', () => {
    let now = 0;
    const limit = new SpanLimit(10, () => now);
    expect(ask(limit, 'a', 20)).toBe(5);
    now = 999;
    expect(ask(limit, 'a', 20)).toBe(0);
    now = 1_000;
    expect(ask(limit, 'a', 20)).toBe(5);
    expect(limit.leftOut).toBe(15 + 20 + 15);
  });

  it('does not count spans that a sampler did not want', () => {
    const limit = new SpanLimit(10, () => 0);
    const asked = Array.from({ length: 100 }, () => limit.allows('a'));
    expect(asked).not.toContain(false);
  });

  it('gives a single span to the owner that asks first', () => {
    const limit = new SpanLimit(1, () => 0);
    expect([ask(limit, 'a', 2), ask(limit, 'b', 2)]).toEqual([1, 0]);
  });
});
