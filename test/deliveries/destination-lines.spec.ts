import { beforeEach, describe, expect, it } from '@jest/globals';
import { DestinationLines } from '../../src/deliveries/destination-lines.js';
import { FakeClock } from '../support/fake-clock.js';

const MINUTE = 60_000;

describe('log lines about destinations that get nothing', () => {
  let clock: FakeClock;
  let written: string[];
  let lines: DestinationLines;

  beforeEach(() => {
    clock = new FakeClock();
    written = [];
    lines = new DestinationLines(
      {
        error: (message) => written.push(`error: ${message}`),
        warn: (message) => written.push(`warn: ${message}`),
      },
      clock,
    );
  });

  /** Writes a line about the fault for each of `count` destinations. */
  function tell(count: number, reason = 'row cannot be read'): void {
    for (let n = 0; n < count; n++) lines.write('warn', 'not looked up', `The destination ${n}: ${reason}`);
  }

  it('are written once, however often the same fault is found', async () => {
    for (let minute = 0; minute < 3; minute++) {
      tell(3);
      await clock.pass(2 * MINUTE);
    }
    expect(written).toHaveLength(3);
  });

  it('are limited to five of a kind, with a summary at the end of the minute', async () => {
    tell(100);
    expect(written).toHaveLength(5);
    await clock.pass(MINUTE);
    expect(written.slice(5)).toEqual([
      'warn: 94 more lines like this were left out in the last minute: The destination 99: row cannot be read',
    ]);
    await clock.pass(10 * MINUTE);
    expect(written).toHaveLength(6);
  });

  it('are summed up when the application closes, and not later', async () => {
    tell(100);
    lines.close();
    expect(written.slice(5)).toEqual([expect.stringMatching(/^warn: 94 more lines like this/)]);
    await clock.pass(2 * MINUTE);
    expect(written).toHaveLength(6);
  });

  it('are limited to one a minute while more destinations have the fault than can be remembered', async () => {
    for (let minute = 0; minute < 10; minute++) {
      for (let second = 0; second < 60; second++) {
        tell(3_000);
        await clock.pass(1_000);
      }
    }
    expect(written).toHaveLength(5 + 10);
    expect(written.at(-1)).toMatch(/^warn: 2999 more lines like this/);
  });

  it('are written again by `writeEach`, within the same limit', async () => {
    for (let times = 0; times < 3; times++)
      lines.writeEach('warn', 'disabled', 'The destination was disabled');
    expect(written).toHaveLength(3);
    for (let n = 0; n < 100; n++) lines.writeEach('warn', 'disabled', `The destination ${n} was disabled`);
    expect(written).toHaveLength(5);
    await clock.pass(MINUTE);
    expect(written.slice(5)).toEqual([
      'warn: 97 more lines like this were left out in the last minute: The destination 99 was disabled',
    ]);
  });

  it('do not hold back lines of another kind', () => {
    tell(100);
    lines.write('error', 'DESTINATION_DISABLED', 'The destination 1 is disabled.');
    expect(written.at(-1)).toBe('error: The destination 1 is disabled.');
  });

  it('are not summed up if only one was left out, and are unlimited again after a minute without any', async () => {
    tell(6);
    await clock.pass(MINUTE);
    expect(written.at(-1)).toBe('warn: The destination 5: row cannot be read');
    await clock.pass(MINUTE);
    tell(2, 'the table is gone');
    expect(written).toHaveLength(8);
  });

  it('leave no timer behind when nothing is left to write', async () => {
    tell(100);
    await clock.pass(2 * MINUTE);
    expect(clock.pending).toBe(0);
  });
});
