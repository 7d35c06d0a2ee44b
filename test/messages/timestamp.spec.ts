import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidMessageError } from '../../src/errors/message.errors.js';
import { toTimestamp } from '../../src/messages/timestamp.js';

const YEAR_0 = Date.parse('0000-01-01T00:00:00.000Z');
const YEAR_9999 = Date.parse('9999-12-31T23:59:59.999Z');

describe('toTimestamp', () => {
  it.each([
    ['the form that is sent', '2026-11-21T09:30:00.123Z', '2026-11-21T09:30:00.123Z'],
    ['a string without an offset is UTC', '2026-11-21T09:30:00', '2026-11-21T09:30:00.000Z'],
    ['a string without seconds', '2026-11-21T09:30Z', '2026-11-21T09:30:00.000Z'],
    ['a date alone is midnight UTC', '2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['a month is its first moment', '2026-11', '2026-11-01T00:00:00.000Z'],
    ['a year is its first moment', '2014', '2014-01-01T00:00:00.000Z'],
    ['an offset to the east', '2026-11-21T09:30:00+02:00', '2026-11-21T07:30:00.000Z'],
    ['an offset to the west, past midnight', '2026-12-31T23:30:00-05:30', '2027-01-01T05:00:00.000Z'],
    ['an offset without a colon', '2026-11-21T09:30:00.5+0530', '2026-11-21T04:00:00.500Z'],
    ['an offset of hours alone', '2026-11-21T09:30:00+01', '2026-11-21T08:30:00.000Z'],
    ['an offset of minus zero', '2026-11-21T09:30:00-00:00', '2026-11-21T09:30:00.000Z'],
    ['microseconds are cut, not rounded', '2026-11-21T09:30:00.123999Z', '2026-11-21T09:30:00.123Z'],
    ['nanoseconds are cut', '2026-12-31T23:59:59.999999999Z', '2026-12-31T23:59:59.999Z'],
    ['a fraction before 1970 is cut the same way', '1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
    ['a fraction after a comma', '2026-11-21T09:30:00,25Z', '2026-11-21T09:30:00.250Z'],
    ['the end of a day', '2026-11-21T24:00:00Z', '2026-11-22T00:00:00.000Z'],
    ['a leap day', '2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['the first year', '0000-01-01', '0000-01-01T00:00:00.000Z'],
    ['a year before 100', '0050-06-01T00:00:00Z', '0050-06-01T00:00:00.000Z'],
    ['the last year', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('takes %s', (_, given, expected) => {
    expect(toTimestamp(given)).toBe(expected);
  });

  it.each([
    '',
    'yesterday',
    '202',
    '20261',
    '202611',
    '2026-1',
    '2026-13',
    '2026-00',
    '2026-11-2',
    '2026T09:30',
    '2026-11T09:30Z',
    '2026-11Z',
    '20261121T093000Z',
    '2026-11-21 09:30:00',
    '2026-11-21T09',
    '2026-11-21T09:30.5Z',
    '2026-11-21Z',
    '2026-11-21T',
    '2026-11-21T09:30:00.Z',
    '2026-11-21T09:30:00z',
    '2026-11-21T09:30:00 Z',
    '2026-11-21T09:30:00Z\n',
    ' 2026-11-21',
    '2026-13-01',
    '2026-00-10',
    '2026-02-29',
    '2026-04-31T09:30:00Z',
    '2026-11-00',
    '2026-11-21T25:00:00Z',
    '2026-11-21T24:00:01Z',
    '2026-11-21T09:60:00Z',
    '2026-11-21T09:30:60Z',
    '2026-11-21T09:30:00+24:00',
    '2026-11-21T09:30:00+01:60',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '+010000-01-01T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    'Sat, 21 Nov 2026 09:30:00 GMT',
    '11/21/2026',
    '1795224532709',
    '２０２６-11-21',
  ])('refuses %j, which is not ISO 8601 or not in the calendar', (given) => {
    expect(() => toTimestamp(given)).toThrow(InvalidMessageError);
  });

  it.each([
    ['an invalid Date', new Date(Number.NaN), 'got a Date'],
    ['a Date past the year 9999', new Date(YEAR_9999 + 1), 'got a Date'],
    ['a Date before the year 0', new Date(YEAR_0 - 1), 'got a Date'],
    ['a number', 1795224532709, 'got a number'],
    ['an object', { toISOString: () => '2026-11-21T09:30:00.123Z' }, 'got an object'],
    ['undefined', undefined, 'got undefined'],
    ['null', null, 'got null'],
  ])('refuses %s and names what it got', (_, given, text) => {
    expect(() => toTimestamp(given)).toThrow(
      expect.objectContaining({ field: 'timestamp', message: expect.stringContaining(text) }),
    );
  });

  it('keeps the given text out of the error', () => {
    expect(() => toTimestamp('ada@example.com')).not.toThrow(/ada/);
    expect(() => toTimestamp('ada@example.com')).toThrow(/ISO 8601/);
  });

  it('keeps every Date of the years 0 to 9999, and returns its own result unchanged', () => {
    fc.assert(
      fc.property(fc.integer({ min: YEAR_0, max: YEAR_9999 }), (milliseconds) => {
        const timestamp = toTimestamp(new Date(milliseconds));
        expect(Date.parse(timestamp)).toBe(milliseconds);
        expect(toTimestamp(timestamp)).toBe(timestamp);
      }),
    );
  });

  it('reads the same instant in every offset', () => {
    const instants = fc.integer({ min: YEAR_0 + 86_400_000, max: YEAR_9999 - 86_400_000 });
    const offsets = fc.integer({ min: -1439, max: 1439 });
    fc.assert(
      fc.property(instants, offsets, (milliseconds, minutes) => {
        const local = new Date(milliseconds + minutes * 60_000).toISOString().slice(0, -1);
        const hour = String(Math.trunc(Math.abs(minutes) / 60)).padStart(2, '0');
        const minute = String(Math.abs(minutes) % 60).padStart(2, '0');
        const given = `${local}${minutes < 0 ? '-' : '+'}${hour}:${minute}`;
        expect(toTimestamp(given)).toBe(new Date(milliseconds).toISOString());
      }),
    );
  });

  it('either returns 24 characters in UTC or refuses, whatever the text', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.stringMatching(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(toTimestamp(text)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidMessageError);
        }
      }),
    );
  });
});
