import { types } from 'node:util';
import { InvalidFilterError } from '../errors/delivery.errors.js';
import { isMessageType, MESSAGE_TYPES } from '../messages/message-builders.js';
import { describe } from '../options/option-reader.js';
import { closestName } from '../shared/closest-name.js';
import type { FailedFilter } from './failed-filter.js';
import type { FailedCountQuery, FailedQuery } from './failed-messages.js';
import type { HourRange, RecentQuery, StatsQuery } from './history/history.types.js';

interface Rule {
  expected: string;
  accepts: (value: unknown) => boolean;
}

const TEXT: Rule = { expected: 'a string', accepts: (value) => typeof value === 'string' };
const TIME: Rule = {
  expected: 'a valid Date, or milliseconds since the epoch',
  accepts: (value) => (types.isDate(value) || typeof value === 'number') && !Number.isNaN(value.valueOf()),
};
const POSITION: Rule = {
  expected: 'an integer >= 0',
  accepts: (value) => (Number.isInteger(value) && Number(value) >= 0) || value === Infinity,
};

const FILTER: Readonly<Record<keyof FailedFilter, Rule>> = {
  destination: TEXT,
  source: TEXT,
  messageIds: {
    expected: 'an array of strings',
    accepts: (value) => Array.isArray(value) && value.every((id) => typeof id === 'string'),
  },
  type: { expected: `one of ${MESSAGE_TYPES.join(', ')}`, accepts: isMessageType },
  class: {
    expected: "'retry' or 'permanent'",
    accepts: (value) => value === 'retry' || value === 'permanent',
  },
  status: { expected: 'an integer', accepts: Number.isInteger },
  error: TEXT,
  from: TIME,
  to: TIME,
};
const COUNT: Readonly<Record<keyof FailedCountQuery, Rule>> = {
  ...FILTER,
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
};
const LIST: Readonly<Record<keyof FailedQuery, Rule>> = {
  ...COUNT,
  start: POSITION,
  end: POSITION,
  waiting: { expected: 'a boolean', accepts: (value) => typeof value === 'boolean' },
};
const HOURS: Readonly<Record<keyof HourRange, Rule>> = { from: TIME, to: TIME };
const STATS: Readonly<Record<keyof StatsQuery, Rule>> = { destination: TEXT, tenant: TEXT, ...HOURS };
const RECENT: Readonly<Record<keyof RecentQuery, Rule>> = {
  destination: TEXT,
  tenant: TEXT,
  limit: { expected: 'a number', accepts: (value) => typeof value === 'number' && !Number.isNaN(value) },
};
/** By the method that is called. */
const RULES = {
  replay: FILTER,
  countFailed: COUNT,
  failed: LIST,
  recent: RECENT,
  stats: STATS,
  totals: HOURS,
};

/** What must not mean all where the variable is `undefined` that should hold it. */
const MEANT_TO_SELECT: Partial<Record<keyof typeof RULES, readonly string[]>> = {
  replay: ['destination', 'messageIds'],
  recent: ['tenant'],
  stats: ['tenant'],
};

/**
 * Untyped code may pass anything: a wrong name would select everything, and a wrong value nothing.
 *
 * @throws InvalidFilterError
 */
export function checkFilter(query: FailedQuery | RecentQuery | StatsQuery, method: keyof typeof RULES): void {
  const rules: Readonly<Record<string, Rule>> = RULES[method];
  const meant = MEANT_TO_SELECT[method] ?? [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined && !meant.includes(name)) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) throw unknownName(name, Object.keys(rules));
    if (rule.accepts(value)) continue;
    throw new InvalidFilterError(name, `Expected \`${name}\` to be ${rule.expected}, got ${describe(value)}`);
  }
}

function unknownName(name: string, known: readonly string[]): InvalidFilterError {
  const closest = closestName(name, known);
  const hint = closest === undefined ? `It may have ${known.join(', ')}.` : `Did you mean \`${closest}\`?`;
  return new InvalidFilterError(name, `A filter has no \`${name}\`. ${hint}`);
}
