import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { explainEnd } from '../../src/queue/ended-statements.js';
import { QueueHealth } from '../../src/queue/queue-health.js';

const MINUTE = 60_000;
const WRITE = 'INSERT INTO nestjs_analytics.delivery_entry …';
const READ = 'SELECT … FROM nestjs_analytics.delivery_entry';
const READ_OF_HOURS = 'SELECT … FROM nestjs_analytics.delivery_hour';
const LOOK = "SELECT to_regclass('nestjs_analytics.delivery_entry') IS NOT NULL AS found";
const COUNT = '/* metrics */ SELECT count(*) …';
const OLDEST = '/* metrics */ SELECT min(added_at_ms) …';

let lines: string[];
let health: QueueHealth;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  lines = [];
  const add = (line: string): void => void lines.push(line);
  health = new QueueHealth('PostgreSQL', { warn: add, log: add });
  health.up();
});
afterEach(() => {
  health.close();
  jest.useRealTimers();
});

function end(statement: string): void {
  const error = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
  health.failed(explainEnd(error, statement), statement, performance.now());
}

function answer(statement: string, askedAt = performance.now()): void {
  health.answered(askedAt, statement);
}

function pass(milliseconds: number): void {
  jest.advanceTimersByTime(milliseconds);
}

const ended = (work: string): unknown =>
  expect.stringMatching(new RegExp(`^The queue on PostgreSQL did not answer a statement of ${work} \\(`));
const again = (work: string): string => `The queue on PostgreSQL answers statements of ${work} again.`;
const HISTORY = 'the history of deliveries';

describe('statements beside the queue that its server ends', () => {
  it('are logged once while some of them are answered and others ended, however long that lasts', () => {
    for (let minute = 0; minute < 60; minute++) {
      end(WRITE);
      answer(WRITE);
      pass(MINUTE);
      answer(WRITE);
    }
    expect(lines).toEqual([ended(HISTORY)]);
  });

  it('count as answered again at the first answer about their table after five minutes without an end', () => {
    end(WRITE);
    // Like a read of the console, which may not be repeated for hours.
    end(READ);
    pass(5 * MINUTE - 1);
    answer(WRITE);
    expect(lines).toEqual([ended(HISTORY)]);
    pass(1);
    answer(WRITE);
    expect(lines).toEqual([ended(HISTORY), again(HISTORY)]);
    end(READ);
    expect(lines).toEqual([ended(HISTORY), again(HISTORY), ended(HISTORY)]);
  });

  it('do not count as answered by an answer to an earlier request, or about something else', () => {
    const askedAt = performance.now();
    end(WRITE);
    pass(5 * MINUTE);
    answer(READ, askedAt);
    answer(READ_OF_HOURS);
    answer(LOOK);
    answer(COUNT);
    answer('SELECT 1');
    expect(lines).toEqual([ended(HISTORY)]);
  });

  it('are logged separately for the metrics, which are counted with several statements', () => {
    end(COUNT);
    end(WRITE);
    pass(5 * MINUTE);
    answer(OLDEST);
    expect(lines).toEqual([ended('the metrics'), ended(HISTORY), again('the metrics')]);
  });

  it('use up none of the lines about the queue itself', () => {
    for (let times = 0; times < 5; times++) {
      end(WRITE);
      answer(WRITE);
    }
    for (let times = 0; times < 2; times++) {
      pass(1);
      health.down(new Error('Connection is closed.'));
      pass(1);
      health.up();
    }
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/cannot be reached/),
      expect.stringMatching(/is back/),
      expect.stringMatching(/cannot be reached/),
      expect.stringMatching(/is back/),
    ]);
  });
});
