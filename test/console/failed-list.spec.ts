import { describe, expect, it } from '@jest/globals';
import type { FailedMessage } from '../../src/index.js';
import {
  cutList,
  type FailedList,
  type ListLimits,
  MOST_ROWS,
  renewedList,
} from '../../src/console/page/failed-list.js';

/** Returns messages with these ids. A question mark at the end means that the message's batch is still retried. */
function messages(...ids: string[]): FailedMessage[] {
  return ids.map((id) => ({
    messageId: id.replace('?', ''),
    type: 'track',
    destination: 'crm',
    source: 'default',
    failedAt: 0,
    error: 'DELIVERY_FAILED',
    waiting: id.endsWith('?'),
    outcomes: [],
    body: '{}',
  }));
}

const list = (rows: string[], apart: string[] = []): FailedList => ({
  rows: messages(...rows),
  apart: messages(...apart),
});

const limits = (count: number, read: string[] = [], gone: string[] = []): ListLimits => ({
  count,
  isRead: ({ messageId }) => read.includes(messageId),
  isGone: ({ messageId }) => gone.includes(messageId),
});

/** Returns the ids of the rows, followed by a bar and the ids of the rows that stand apart, if any. */
function textOf({ rows, apart }: FailedList): string {
  const ids = (of: readonly FailedMessage[]): string => of.map(({ messageId }) => messageId).join(' ');
  return apart.length === 0 ? ids(rows) : `${ids(rows)} | ${ids(apart)}`;
}

interface Case {
  what: string;
  shown: FailedList;
  latest: string[];
  isAll?: boolean;
  limits: ListLimits;
  becomes: string;
}

const CASES: Case[] = [
  {
    what: 'begins with what has failed since, and is cut to what was asked for',
    shown: list(['c', 'b', 'a']),
    latest: ['e', 'd', 'c'],
    limits: limits(3),
    becomes: 'e d c',
  },
  {
    what: 'goes down to the last row that somebody reads, without a gap',
    shown: list(['c', 'b', 'a']),
    latest: ['e', 'd', 'c'],
    limits: limits(3, ['b']),
    becomes: 'e d c b',
  },
  {
    what: 'loses what is not kept any more, also if somebody reads it',
    shown: list(['e', 'd', 'c', 'b', 'a']),
    latest: ['f', 'd', 'c'],
    limits: limits(5, ['e', 'b'], ['b']),
    becomes: 'f d c a',
  },
  {
    what: 'is only what was read, where that is all',
    shown: list(['c', 'b'], ['a']),
    latest: ['d', 'c'],
    isAll: true,
    limits: limits(3, ['a', 'b']),
    becomes: 'd c',
  },
  {
    what: 'has a gap where nothing is known of what was read, and behind it only what somebody reads',
    shown: list(['c', 'b', 'a']),
    latest: ['z', 'y', 'x'],
    limits: limits(3, ['b']),
    becomes: 'z y x | b',
  },
  {
    what: 'keeps the gap while somebody reads what is behind it',
    shown: list(['z', 'y', 'x'], ['b', 'a']),
    latest: ['z1', 'z', 'y'],
    limits: limits(3, ['a']),
    becomes: 'z1 z y | a',
  },
  {
    what: 'has no gap any more once nobody does',
    shown: list(['z', 'y', 'x'], ['b']),
    latest: ['z1', 'z', 'y'],
    limits: limits(3),
    becomes: 'z1 z y',
  },
  {
    what: 'closes the gap as far as was read',
    shown: list(['z', 'y'], ['b', 'a']),
    latest: ['z1', 'c', 'b'],
    limits: limits(4, ['a']),
    becomes: 'z1 c b | a',
  },
  {
    what: 'keeps at its end those whose batch is still retried, which were not read',
    shown: list(['b', 'a', 'w?']),
    latest: ['c', 'b', 'a'],
    isAll: true,
    limits: limits(5),
    becomes: 'c b a w',
  },
  {
    what: 'has them at the top when their batch has ended, and loses none of the others by that',
    shown: list(['b', 'a', 'w?', 'v?']),
    latest: ['w', 'b'],
    limits: limits(5, [], ['v']),
    becomes: 'w b a',
  },
];

describe('the list of what has failed for good, renewed,', () => {
  it.each(CASES)('$what', ({ shown, latest, isAll = false, limits: given, becomes }) => {
    expect(textOf(renewedList(shown, { messages: messages(...latest), isAll }, given))).toBe(becomes);
  });

  it('has at most a thousand rows, and more than asked for only while somebody reads them', () => {
    const ids = Array.from({ length: MOST_ROWS + 100 }, (_, index) => `m${index}`);
    const last = `m${MOST_ROWS + 50}`;
    const { rows, apart } = cutList(list(ids), limits(20, ['m500', last]));
    expect(rows).toHaveLength(MOST_ROWS);
    expect(apart.map(({ messageId }) => messageId)).toEqual([last]);
    expect(cutList(list(ids), limits(20, ['m500'])).rows).toHaveLength(501);
    expect(cutList(list(ids), limits(20)).rows).toHaveLength(20);
  });
});
