import { types } from 'node:util';
import { unexpected } from './message-checks.js';

/** A calendar date, or date and time with an optional offset. The ranges are left to `Date`. */
const ISO_8601 =
  /^(?<date>\d{4}-\d\d-\d\d)(?:T(?<minute>\d\d:\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?(?:Z|(?<offset>[+-]\d\d)(?::?(?<offsetMinute>\d\d))?)?)?$/;

/** Length of `2026-11-21T09:30:00.123Z`; years outside 0000 to 9999 make it longer. */
const LENGTH = 24;

const EXPECTED =
  'a valid Date or an ISO 8601 string of the years 0000 to 9999, such as `2026-11-21T09:30:00.123Z`';

/**
 * Brings a point in time to the one form in which it is sent: ISO 8601, UTC, milliseconds
 * (`2026-11-21T09:30:00.123Z`). A string without an offset is UTC, one without a time is midnight, and
 * fractions finer than a millisecond are cut.
 *
 * @param value a valid `Date`, or an ISO 8601 string with a full date; years 0000 to 9999
 * @throws {InvalidMessageError} for anything else, other formats that `Date.parse` takes included
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

/** The present moment, in that form. Remembered for the millisecond, in which a burst has hundreds of calls. */
export function timestampNow(): string {
  const at = Date.now();
  if (at !== latest.at) latest = { at, text: new Date(at).toISOString() };
  return latest.text;
}

/** Milliseconds since the epoch, `NaN` for what is not ISO 8601 or not in the calendar. */
function parseIso8601(text: string): number {
  const parts = ISO_8601.exec(text)?.groups;
  if (parts?.date === undefined) return Number.NaN;
  const { date, minute = '00:00', second = '00', fraction = '', offset, offsetMinute = '00' } = parts;
  // `Date` lets 30 February roll over into March.
  if (new Date(date).getUTCDate() !== Number(date.slice(-2))) return Number.NaN;
  const zone = offset === undefined ? 'Z' : `${offset}:${offsetMinute}`;
  return Date.parse(`${date}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
}
