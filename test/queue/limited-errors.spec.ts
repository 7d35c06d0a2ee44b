import { beforeEach, describe, expect, it } from '@jest/globals';
import { LimitedErrors } from '../../src/queue/limited-errors.js';

describe('errors that requests run into', () => {
  let now: number;
  let lines: string[];
  let errors: LimitedErrors;

  beforeEach(() => {
    [now, lines] = [0, []];
    const log = (message: string): void => {
      lines.push(message);
    };
    errors = new LimitedErrors({ error: log, warn: log, log }, () => now);
  });

  const countOf = (message: string): number => lines.filter((line) => line === message).length;

  it('get five lines a minute each, so that no error hides another', () => {
    for (let n = 0; n < 100; n++) errors.error('the store is away');
    errors.error('no answer could be written');
    expect(countOf('the store is away')).toBe(5);
    expect(countOf('no answer could be written')).toBe(1);
    now += 60_000;
    errors.error('the store is away');
    expect(countOf('the store is away')).toBe(6);
  });

  it('do not flood the log, however a sender makes them differ', () => {
    for (let n = 0; n < 10_000; n++) errors.error(`error ${n}`);
    expect(lines).toHaveLength(25);
    now += 60_000;
    for (let n = 10_000; n < 20_000; n++) errors.error(`error ${n}`);
    expect(lines).toHaveLength(30);
  });
});
