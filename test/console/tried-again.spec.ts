import { describe, expect, it } from '@jest/globals';
import type { FailedMessage } from '../../src/index.js';
import { TriedAgain } from '../../src/console/page/tried-again.js';
import type { RecentDelivery } from '../../src/deliveries/history/history.types.js';

/** Returns deliveries of the messages `m<first>` to `m<last>`, each at the time of its number, the latest first. */
function deliveries(
  first: number,
  last: number,
  state: RecentDelivery['state'] = 'delivered',
): RecentDelivery[] {
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    messageId: `m${last - index}`,
    type: 'track',
    source: 'default',
    state,
    at: last - index,
    attempts: [],
  }));
}

const failed = (messageId: string, failedAt: number): FailedMessage => ({
  messageId,
  type: 'track',
  destination: 'crm',
  source: 'default',
  failedAt,
  error: 'DELIVERY_FAILED',
  waiting: false,
  outcomes: [],
  body: '{}',
});

describe('what the latest deliveries tell', () => {
  it('includes what was delivered again, also once later deliveries have displaced it', () => {
    const seen = new TriedAgain();
    seen.look(deliveries(1, 100));
    seen.look(deliveries(41, 140));
    expect(seen.includes(failed('m1', 0))).toBe(true);
    expect(seen.includes(failed('m140', 139))).toBe(true);
    // It has failed once more after that.
    expect(seen.includes(failed('m1', 2))).toBe(false);
    expect(seen.includes(failed('m141', 0))).toBe(false);
  });

  it('does not include what has only failed', () => {
    const seen = new TriedAgain();
    seen.look(deliveries(1, 10, 'failed'));
    expect(seen.includes(failed('m1', 0))).toBe(false);
  });

  it.each([
    { what: 'when all are shown', looks: [deliveries(1, 10), deliveries(11, 90)], gaps: 0 },
    {
      what: 'when many known ones are still shown',
      looks: [deliveries(1, 100), deliveries(41, 140)],
      gaps: 0,
    },
    { what: 'at first', looks: [undefined, deliveries(1, 100)], gaps: 0 },
    { what: 'while nothing is known', looks: [deliveries(1, 100), undefined], gaps: 0 },
    {
      what: 'when none of the known ones is shown',
      looks: [deliveries(1, 100), deliveries(101, 200)],
      gaps: 1,
    },
    { what: 'when few known ones are shown', looks: [deliveries(1, 100), deliveries(91, 190)], gaps: 1 },
    { what: 'after a time without answers', looks: [[], undefined, deliveries(1, 100)], gaps: 1 },
  ])('may lack $gaps times something $what', ({ looks, gaps }) => {
    const seen = new TriedAgain();
    for (const look of looks) seen.look(look);
    expect(seen.gaps).toBe(gaps);
  });
});
