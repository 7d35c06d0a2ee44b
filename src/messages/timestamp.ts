import { types } from 'node:util';
import { unexpected } from './message-checks.js';

/** A year, a month or a calendar date, the last with or without time and offset. `Date` checks the ranges. */
const ISO_8601 =
  /^(?<date>\d{4}(?:-\d\d(?:-(?<day>\d\d))?)?)(?:(?<=-\d\d-\d\d)T(?<minute>\d\d:\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?(?:Z|(?<offset>[+-]\d\d)(?::?(?<offsetMinute>\d\d))?)?)?$/;

/** Length of `2026-11-21T09:30:00.123Z`; years outside 0000 to 9999 make it longer. */
const LENGTH = 24;

const EXPECTED =
  'a valid Date or an ISO 8601 string of the years 0000 to 9999, such as `2026-11-21T09:30:00.123Z`';

/**
 * Converts a point in time to the form in which it is sent: ISO 8601, UTC, milliseconds
 * (`2026-11-21T09:30:00.123Z`). A string without an offset is UTC, one without a time is midnight, and
 * fractions finer than a millisecond are cut. A year or a month alone is its first moment.
 *
 * @param value a valid `Date`, or an ISO 8601 string; years 0000 to 9999
 * @throws {InvalidMessageError} for anything else, including other formats that `Date.parse` accepts
 */
export function toTimestamp(value: unknown): string {
  const milliseconds = types.isDate(value)
    ? value.getTime()
    : typeof value === 'string'
      ? parseIso8601(value)
      : Number.NaN;
  const timestamp = Number.isNaN(milliseconds) ? '' : new Date(milliseconds).toISOString();
  if (timestamp.length !== LENGTH) throw unexpected('timestamp', EXPECTED, value);
  return timestamp;
}

let latest = { at: Number.NaN, text: '' };

/** Returns the current time in that form. Cached for the millisecond, in which a burst has hundreds of calls. */
export function timestampNow(): string {
  const at = Date.now();
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}

/** Returns milliseconds since the epoch, or `NaN` if not ISO 8601 or not in the calendar. No offset means UTC. */
export function parseIso8601(text: string): number {
  const parts = ISO_8601.exec(text)?.groups;
  if (parts?.date === undefined) return Number.NaN;
  const { date, day, minute = '00:00', second = '00', fraction = '', offset, offsetMinute = '00' } = parts;
  if (day === undefined) return Date.parse(date);
  // `Date` turns 30 February into a day in March.
  if (new Date(date).getUTCDate() !== Number(day)) return Number.NaN;
  const zone = offset === undefined ? 'Z' : `${offset}:${offsetMinute}`;
  return Date.parse(`${date}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
}
