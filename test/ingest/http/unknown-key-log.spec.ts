import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { UnknownKeyLog } from '../../../src/ingest/http/unknown-key-log.js';

describe('the log of unknown write keys', () => {
  let lines: string[];
  let log: UnknownKeyLog;

  beforeEach(() => {
    jest.useFakeTimers();
    lines = [];
    log = new UnknownKeyLog({ warn: (line) => lines.push(line) });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('writes the first request at once, and later ones once a minute with their count', () => {
    log.add('wk_wrong_page');
    expect(lines).toEqual([
      expect.stringMatching(/^The tracking API answered 1 request with 401 .* ends in "page"/),
    ]);
    for (let n = 0; n < 500; n++) log.add('wk_wrong_page');
    expect(lines).toHaveLength(1);
    jest.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^The tracking API answered 500 requests with 401 /);
    jest.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(2);
    log.add('wk_wrong_page');
    expect(lines).toHaveLength(3);
  });

  it('shows at most half of a key, and no characters that a terminal obeys', () => {
    log.add('abcd');
    jest.advanceTimersByTime(60_000);
    log.add('key\u001b[2J\u009b');
    jest.advanceTimersByTime(60_000);
    log.add(undefined);
    expect(lines.map((line) => /: (.*)\. Check/.exec(line)?.[1])).toEqual([
      'an unknown write key that ends in "cd"',
      'an unknown write key that ends in "[2J?"',
      'no write key',
    ]);
  });

  it('writes the remaining count when the application closes', () => {
    log.add('wk_wrong_page');
    log.add('wk_wrong_page');
    log.close();
    expect(lines).toHaveLength(2);
    expect(jest.getTimerCount()).toBe(0);
  });
});
