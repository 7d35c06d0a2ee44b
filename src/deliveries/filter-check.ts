import { types } from 'node:util';
import { InvalidFilterError } from '../errors/delivery.errors.js';
import { isMessageType, MESSAGE_TYPES } from '../messages/message-builders.js';
import {
  integer,
  type OptionRule,
  type OptionRules,
  problemsOfCall,
  TEXT,
  textOf,
} from '../options/call-options.js';
import type { FailedFilter } from './failed-filter.js';
import type { FailedCountQuery, FailedQuery } from './failed-messages.js';
import { KEPT_ENTRIES } from './history/history-store.js';
import type { HourRange, RecentQuery, StatsQuery } from './history/history.types.js';

/** A text that may be left out, but not be `undefined`: an unset variable must not select everything. */
const MEANT_TEXT: OptionRule = { ...TEXT, presence: 'meant' };
const TIME: OptionRule = {
  expected: 'a valid Date, or milliseconds since the epoch',
  accepts: (value) => (types.isDate(value) || typeof value === 'number') && !Number.isNaN(value.valueOf()),
};
const POSITION: OptionRule = {
  expected: 'an integer >= 0',
  accepts: (value) => (Number.isInteger(value) && Number(value) >= 0) || value === Infinity,
};

const TEXTS: OptionRule = {
  expected: 'an array of strings',
  accepts: (value) => Array.isArray(value) && value.every((text) => typeof text === 'string'),
};

const FILTER: OptionRules<FailedFilter> = {
  destination: TEXT,
  source: TEXT,
  messageIds: TEXTS,
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
const COUNT: OptionRules<FailedCountQuery> = {
  ...FILTER,
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
};
const FLAG: OptionRule = { expected: 'a boolean', accepts: (value) => typeof value === 'boolean' };
const LIST: OptionRules<FailedQuery> = {
  ...COUNT,
  start: POSITION,
  end: POSITION,
  waiting: FLAG,
  bodies: FLAG,
};
const HOURS: OptionRules<HourRange> = { from: TIME, to: TIME };
const STATS: OptionRules<StatsQuery> = { destination: TEXT, tenant: MEANT_TEXT, ...HOURS };
const RECENT: OptionRules<RecentQuery> = {
  destination: TEXT,
  tenant: MEANT_TEXT,
  limit: integer(1, KEPT_ENTRIES),
};
const REPLAY: OptionRules<FailedFilter> = {
  ...FILTER,
  destination: MEANT_TEXT,
  messageIds: { ...TEXTS, presence: 'meant' },
};
/** Rules of the options, by method. */
const RULES = {
  replay: REPLAY,
  countFailed: COUNT,
  failed: LIST,
  recent: RECENT,
  stats: STATS,
  totals: HOURS,
};

/**
 * Checks a call. Untyped code may pass anything: a wrong name would select everything, and a wrong value nothing.
 *
 * @throws InvalidFilterError
 */
export function checkFilter(query: FailedQuery | RecentQuery | StatsQuery, method: keyof typeof RULES): void {
  const [problem] = problemsOfCall(query, RULES[method], 'filter');
  if (problem !== undefined) throw new InvalidFilterError(problem.path, textOf(problem, 'A filter'));
}
