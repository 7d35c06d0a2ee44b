import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConnectionClosedError } from 'bullmq';
import { EmbeddedQueueBrokenError } from '../../src/errors/embedded-queue.errors.js';
import { explainDamage } from '../../src/queue/damaged-tables.js';
import { failureOf, SilentConnectionError } from '../../src/queue/queue-failure.js';
import { UnsupportedQueueServerError } from '../../src/errors/setup.errors.js';
import { EMBEDDED, QueueHealth } from '../../src/queue/queue-health.js';
import { RemovedOwnTableError, RemovedTablesError } from '../../src/queue/removed-tables.js';
import { heldBytes } from '../support/heap.js';

const KEPT = 'Calls are kept in memory, 3 so far, up to `maxBufferedBytes`, and delivery resumes by itself';

const DISK_FULL = Object.assign(new Error('no room'), { code: '53100' });

const TAKE = 'SELECT * FROM move_to_active($1, $2, $3, $4, $5, $6, $7);';
const READ = 'SELECT * FROM job WHERE queue = $1 AND id = $2;';
const OF_HISTORY = 'SELECT * FROM nestjs_analytics.delivery_entry';

let lines: string[];
let health: QueueHealth;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  lines = [];
  const add = (line: string): void => void lines.push(line);
  health = new QueueHealth('Redis', { warn: add, log: add });
  health.countPendingBy(() => 3);
});
afterEach(() => {
  health.close();
  jest.useRealTimers();
});

function outage(seconds: number): void {
  health.down(new Error('Connection is closed.'));
  jest.advanceTimersByTime(seconds * 1000);
  health.up();
}

/** Lets a second pass in which a job is refused and a probe is stored afterwards. */
function refusedThenProbed(): void {
  jest.advanceTimersByTime(1);
  health.failed(DISK_FULL, 'INSERT', performance.now());
  jest.advanceTimersByTime(999);
  health.probed();
}

describe('a report of the queue about itself', () => {
  it('is logged once a minute, however many jobs it concerns', () => {
    health.report(new Error('Lock mismatch for job 1f0c-a. Cmd moveToFinished from active'));
    health.report(new Error('Lock mismatch for job 2e1d-b. Cmd moveToFinished from active'));
    health.report(new Error('could not renew lock for job 1f0c-a'));
    health.report(new Error('could not renew lock for job 2e1d-b'));
    health.report(new Error('Job 1f0c-a is not in the active state. moveToFinished'));
    health.report(new Error('Job 2e1d-b is not in the active state. moveToFinished'));
    const reported = [
      'The queue on Redis reports: Lock mismatch for job 1f0c-a. Cmd moveToFinished from active',
      'The queue on Redis reports: could not renew lock for job 1f0c-a',
      'The queue on Redis reports: Job 1f0c-a is not in the active state. moveToFinished',
    ];
    expect(lines).toEqual(reported);
    jest.advanceTimersByTime(60_000);
    health.report(new Error('could not renew lock for job 3a2b-c'));
    expect(lines).toEqual([...reported, 'The queue on Redis reports: could not renew lock for job 3a2b-c']);
  });

  it('is forgotten after that minute', async () => {
    jest.useRealTimers();
    let now = 0;
    const ignore = (): void => undefined;
    health = new QueueHealth('Redis', { warn: ignore, log: ignore }, () => now);
    const before = await heldBytes();
    for (let minute = 0; minute < 20_000; minute++) {
      now = minute * 60_000;
      health.report(new Error(`${minute} ${'x'.repeat(1_000)}`));
    }
    expect((await heldBytes()) - before).toBeLessThan(5_000_000);
  });

  it('is not logged if it only repeats that the connection is lost, or follows from an outage', () => {
    health.report(new Error('Connection is closed.'));
    expect(lines).toEqual([]);
    outage(2);
    health.report(new Error('Missing lock for job 1f0c-a. moveToFinished'));
    health.report(new Error('a statement has run for 9 s; `pg_stat_activity` shows what it waits for'));
    expect(lines).toHaveLength(2);
  });
});

describe('a job that is finished twice', () => {
  const report = (): void =>
    void health.report(new Error('Job 1f0c-a is not in the active state. moveToFinished'));

  it('is not logged for a minute after an answer was lost', () => {
    health.answerLost();
    jest.advanceTimersByTime(59_000);
    report();
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(1_000);
    report();
    expect(lines).toHaveLength(1);
  });
});

describe('an outage of the queue', () => {
  it('is logged with one line at its beginning and one at its end, each time', () => {
    for (let times = 0; times < 3; times++) {
      outage(30);
      jest.advanceTimersByTime(60_000);
    }
    const begin =
      'The queue on Redis cannot be reached (the connection was closed). ' +
      `${KEPT} when it is back. Check \`connection\` and the server.`;
    const end = 'The queue on Redis is back after 30 s.';
    expect(lines).toEqual([begin, end, begin, end, begin, end]);
  });

  it('is logged with at most five lines a minute if there is one every 200 ms, and each is counted', () => {
    for (let times = 0; times < 900; times++) {
      outage(0.1);
      jest.advanceTimersByTime(100);
    }
    // The outages have taken three minutes.
    expect(lines.length).toBeLessThanOrEqual(15);
    jest.advanceTimersByTime(120_000);
    const told = lines.map((line) => Number(/went away (\d+) more times/i.exec(line)?.[1] ?? 0));
    const begun = lines.filter((line) => line.includes('cannot be reached')).length;
    expect(told.reduce((sum, count) => sum + count, begun)).toBe(900);
  });

  it('has its last line among the five, whatever is reported meanwhile', () => {
    outage(1);
    health.report(new Error('something else'));
    health.down(new Error('Connection is closed.'));
    health.report(new Error('another thing'));
    expect(lines).toHaveLength(4);
    health.up();
    expect(lines).toHaveLength(5);
    expect(lines.at(-1)).toMatch(/is back after/);
  });

  it('is logged if it lasts, though short outages before it have used up the lines', () => {
    for (let times = 0; times < 10; times++) outage(0.1);
    health.down(new Error('Connection is closed.'));
    const before = lines.length;
    jest.advanceTimersByTime(60_000);
    expect(lines.slice(before)).toEqual([
      expect.stringMatching(/cannot be reached.*It went away \d+ more times/),
    ]);
  });

  it.each([
    ['OOM command not allowed when used memory', /takes no more jobs \(its memory is full.*, OOM\)/],
    [
      "READONLY You can't write against a read only replica.",
      /takes no more jobs \(it is a replica.*READONLY\)/,
    ],
    ['MISCONF Errors writing to the AOF file', /takes no more jobs \(it cannot write to its disk, MISCONF\)/],
  ])('ends after a refusal to store (%s) when something is stored, not at an answer', (text, line) => {
    health.report(new Error(text));
    health.up();
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(lines[0]).toContain(KEPT);
    jest.advanceTimersByTime(5_000);
    health.stored();
    expect(lines[1]).toBe('The queue on Redis is back after 5 s.');
  });

  it('is not followed by another outage when an earlier statement is given up', () => {
    jest.advanceTimersByTime(1_000);
    const askedAt = performance.now();
    outage(5);
    health.failed(new Error('timeout expired'), 'SELECT', askedAt);
    expect(health.isUp).toBe(true);
    jest.advanceTimersByTime(1);
    health.failed(new Error('timeout expired'), 'SELECT', performance.now());
    expect(health.isUp).toBe(false);
  });

  it('ends, if a statement was refused, when that statement is answered and not when others are', () => {
    health.failed(Object.assign(new Error('no room'), { code: '53100' }), 'INSERT');
    health.answered(1, 'UPDATE');
    health.answered(1, undefined);
    expect(health.isUp).toBe(false);
    health.answered(1, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('ends, if several statements were refused, when all of them are answered', () => {
    for (const statement of ['INSERT', 'UPDATE']) health.failed(DISK_FULL, statement);
    health.answered(1, 'UPDATE');
    expect(health.isUp).toBe(false);
    health.answered(1, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('lasts while jobs are refused, even if a probe still fits on a nearly full disk', () => {
    for (let second = 0; second < 30; second++) refusedThenProbed();
    expect(health.isRefusing).toBe(true);
    health.answered(performance.now(), 'INSERT');
    const begin = expect.stringMatching(/takes no more jobs \(its disk is full/);
    expect(lines).toEqual([
      begin,
      'The queue on Redis is back after 1 s.',
      begin,
      'The queue on Redis is back after 29 s.',
    ]);
  });

  it('lasts while a function is missing, even if it is needed only once a minute', () => {
    const missing = new RemovedTablesError('42883', {});
    for (let second = 0; second < 300; second++) {
      jest.advanceTimersByTime(1_000);
      if (second % 60 === 0) health.failed(missing, 'SELECT stalled()', performance.now());
      else health.probed();
    }
    expect(health.isRefusing).toBe(true);
    health.answered(performance.now(), 'SELECT stalled()');
    const begin = expect.stringMatching(/takes no more jobs \(tables or functions.*42883/);
    expect(lines).toEqual([
      begin,
      'The queue on Redis is back after 1 s.',
      begin,
      'The queue on Redis is back after 239 s.',
    ]);
  });

  it('lasts if a probe is stored that was sent before it began', () => {
    const askedAt = performance.now();
    jest.advanceTimersByTime(1);
    health.failed(DISK_FULL, 'INSERT', performance.now());
    health.probed(askedAt);
    expect(health.isRefusing).toBe(true);
    health.probed(performance.now());
    expect(health.isRefusing).toBe(false);
  });

  it('lasts while jobs cannot be taken from a damaged page, even if a probe is stored on another one', () => {
    const damaged = explainDamage(Object.assign(new Error('invalid page'), { code: 'XX001' }), TAKE);
    for (let second = 0; second < 30; second++) {
      jest.advanceTimersByTime(1);
      health.failed(damaged, TAKE, performance.now());
      jest.advanceTimersByTime(999);
      health.probed();
    }
    expect(health.isRefusing).toBe(true);
    health.answered(performance.now(), TAKE);
    const begin = expect.stringMatching(
      /takes no more jobs \(its files are damaged: restore a backup, XX001/,
    );
    expect(lines).toEqual([
      begin,
      'The queue on Redis is back after 1 s.',
      begin,
      'The queue on Redis is back after 29 s.',
    ]);
  });

  it('does not begin because a kept job is on a damaged page', () => {
    const unreadable = Object.assign(new Error('invalid page'), { code: 'XX001' });
    for (const statement of [READ, OF_HISTORY]) expect(explainDamage(unreadable, statement)).toBe(unreadable);
    expect(failureOf(unreadable)).toBeUndefined();
  });

  it('ends with each probe if only a read runs out of time again and again', () => {
    for (let times = 0; times < 2; times++) refusedThenProbed();
    jest.advanceTimersByTime(10_000);
    health.probed();
    const timedOut = Object.assign(new Error('canceling statement'), { code: '57014' });
    for (let times = 0; times < 5; times++) {
      health.failed(timedOut, 'SELECT', performance.now() + 1);
      expect(health.isUp).toBe(false);
      jest.advanceTimersByTime(1_000);
      health.probed();
      expect(health.isUp).toBe(true);
    }
  });

  it('is logged with the reason when the server turns out to be unsuitable for the queue', () => {
    health.down(new UnsupportedQueueServerError('it has the encoding LATIN1', 'Make another one.'));
    expect(lines).toEqual([expect.stringContaining('it has the encoding LATIN1. Make another one.')]);
  });

  it('ends with a probe when nothing is refused any more', () => {
    for (let times = 0; times < 2; times++) refusedThenProbed();
    expect(health.isUp).toBe(false);
    jest.advanceTimersByTime(10_000);
    health.probed();
    expect(health.isUp).toBe(true);
  });

  it.each([
    ['28P01', /cannot be reached \(the password is wrong, 28P01\)/],
    ['3D000', /cannot be reached \(there is no such database, 3D000\)/],
    ['53300', /cannot be reached \(it has too many connections.*, 53300\)/],
    ['25006', /takes no more jobs \(it is read-only.*, 25006\)/],
    ['53100', /takes no more jobs \(its disk is full, 53100\)/],
    ['ECONNREFUSED', /cannot be reached \(ECONNREFUSED\)/],
  ])('is logged in words for the code %s, without the message of the driver', (code, line) => {
    health.down(Object.assign(new Error('for user "alice" at db.example.com'), { code }));
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(lines[0]).not.toMatch(/alice|example/);
  });

  it('does not end with the answer to a statement that was sent before the refusal', () => {
    jest.advanceTimersByTime(10);
    health.failed(Object.assign(new Error('permission denied'), { code: '42501' }), 'INSERT');
    health.answered(5, 'INSERT');
    expect(health.isUp).toBe(false);
    health.answered(11, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('does not begin again with the report of a refusal that the pool has reported already', () => {
    const refusal = Object.assign(new Error('permission denied'), { code: '42501' });
    health.failed(refusal, 'INSERT');
    health.answered(1, 'INSERT');
    const told = [...lines];
    health.report(new ConnectionClosedError(undefined, refusal));
    expect(lines).toEqual(told);
    expect(health.isUp).toBe(true);
  });

  it('names the folder of the embedded database, which has no server', () => {
    const add = (line: string): void => void lines.push(line);
    const embedded = new QueueHealth(EMBEDDED, { warn: add, log: add });
    embedded.down(Object.assign(new Error('no room'), { code: '53100' }));
    embedded.close();
    expect(lines).toEqual([
      expect.stringMatching(/\(its disk is full, 53100\).* Check its folder and the disk\.$/),
    ]);
  });

  it('does not claim that everything is in a folder that was removed', () => {
    health.down(new EmbeddedQueueBrokenError({ removed: '/data/.analytics' }));
    expect(lines).toEqual([
      expect.stringMatching(
        /until the process is restarted\. All waiting messages were in that folder: .* put it back first\.$/,
      ),
    ]);
  });

  it('names missing file handles, and what to raise', () => {
    const error = Object.assign(new Error('No file descriptors available'), {
      code: '53000',
      severity: 'ERROR',
    });
    health.down(error);
    expect(lines).toEqual([
      expect.stringMatching(
        /takes no more jobs \(it has no file handle left, .*: raise its `ulimit -n`, 53000\)/,
      ),
    ]);
  });

  it('is logged even during another outage if the embedded database crashes, and lasts', () => {
    health.down(Object.assign(new Error('no room'), { code: '53100' }));
    health.down(new EmbeddedQueueBrokenError());
    health.down(new EmbeddedQueueBrokenError());
    jest.advanceTimersByTime(1_000);
    health.answered(performance.now(), 'SELECT');
    health.stored();
    expect(health.isUp).toBe(false);
    expect(lines).toEqual([
      expect.stringMatching(/takes no more jobs \(its disk is full/),
      expect.stringMatching(/has crashed \(EMBEDDED_QUEUE_BROKEN\).* until the process is restarted/),
    ]);
  });

  it('names the duration of a silence', () => {
    health.down(new SilentConnectionError(7));
    expect(lines).toEqual([expect.stringContaining('does not answer (no answer for 7 s)')]);
  });
});

describe('tables that somebody removes', () => {
  const TABLES = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `nestjs_analytics.${name}`);

  function remove(): void {
    for (const table of TABLES)
      health.failed(new RemovedOwnTableError(table, '42P01', {}), `SELECT FROM ${table}`);
  }

  function restore(): void {
    for (const table of TABLES) health.answered(performance.now(), `SELECT FROM ${table}`);
  }

  const missing = expect.stringMatching(
    /^The tables `nestjs_analytics\.a`, .*, `nestjs_analytics\.e` and `nestjs_analytics\.f` of .* are missing \(42P01\)/,
  );
  const back = expect.stringMatching(
    /^The tables `nestjs_analytics\.a`, .* and `nestjs_analytics\.f` of .* are there again; those that a process has created/,
  );

  it('get one line when they are missing, and one when they are back', () => {
    remove();
    expect(health.tables.missing).toEqual(TABLES);
    jest.advanceTimersByTime(5_000);
    remove();
    jest.advanceTimersByTime(5_000);
    restore();
    expect(health.tables.missing).toEqual([]);
    jest.advanceTimersByTime(5_000);
    expect(lines).toEqual([missing, back]);
  });

  it('are reported although a starting process creates them again at once', () => {
    remove();
    restore();
    jest.advanceTimersByTime(1_000);
    expect(lines).toEqual([missing, back]);
  });

  it('are reported as soon as the limit of lines allows it', () => {
    const fill = (name: string): void => {
      for (let n = 1; n <= 5; n++) health.report(new Error(`${name} ${n}`));
    };
    fill('First');
    remove();
    jest.advanceTimersByTime(59_000);
    expect(lines).toHaveLength(5);
    jest.advanceTimersByTime(1_000);
    expect(lines).toEqual([...lines.slice(0, 5), missing]);
    fill('Second');
    restore();
    jest.advanceTimersByTime(59_000);
    expect(lines).toHaveLength(10);
    jest.advanceTimersByTime(1_000);
    expect(lines.at(-1)).toEqual(back);
  });

  it('are looked for only while they are missing', async () => {
    const asked: (readonly string[])[] = [];
    health.tables.findBy((tables) => {
      asked.push(tables);
      return Promise.resolve(asked.length === 2 ? tables : []);
    });
    remove();
    await jest.advanceTimersByTimeAsync(19_000);
    expect(health.tables.missing).toEqual(TABLES);
    await jest.advanceTimersByTimeAsync(600_000);
    expect(asked).toEqual([TABLES, TABLES]);
    expect(lines).toEqual([missing, back]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
