import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConnectionClosedError } from 'bullmq';
import { EmbeddedQueueBrokenError } from '../../src/errors/embedded-queue.errors.js';
import { SilentConnectionError } from '../../src/queue/queue-failure.js';
import { UnsupportedQueueServerError } from '../../src/errors/setup.errors.js';
import { EMBEDDED, QueueHealth } from '../../src/queue/queue-health.js';
import { RemovedOwnTableError, RemovedTablesError } from '../../src/queue/removed-tables.js';

const KEPT = 'Calls are kept in memory, 3 so far, up to `maxBufferedBytes`, and delivery resumes by itself';

const DISK_FULL = Object.assign(new Error('no room'), { code: '53100' });

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

/** A second in which a job is refused, and a probe is stored afterwards. */
function refusedThenProbed(): void {
  jest.advanceTimersByTime(1);
  health.failed(DISK_FULL, 'INSERT', performance.now());
  jest.advanceTimersByTime(999);
  health.probed();
}

describe('what the queue reports of itself', () => {
  it('is told once a minute, however many jobs it is about', () => {
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

  it('is not told where it only repeats that the connection is lost, or follows from an outage', () => {
    health.report(new Error('Connection is closed.'));
    expect(lines).toEqual([]);
    outage(2);
    health.report(new Error('Missing lock for job 1f0c-a. moveToFinished'));
    health.report(new Error('a statement has run for 9 s; `pg_stat_activity` shows what it waits for'));
    expect(lines).toHaveLength(2);
  });
});

describe('an outage of the queue', () => {
  it('is one line at its begin and one at its end, each time', () => {
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

  it('is five lines a minute at most where there is one every 200 ms, and none is left out of the count', () => {
    for (let times = 0; times < 900; times++) {
      outage(0.1);
      jest.advanceTimersByTime(100);
    }
    // Three minutes.
    expect(lines.length).toBeLessThanOrEqual(15);
    jest.advanceTimersByTime(120_000);
    const told = lines.map((line) => Number(/went away (\d+) more times/i.exec(line)?.[1] ?? 0));
    const begun = lines.filter((line) => line.includes('cannot be reached')).length;
    expect(told.reduce((sum, count) => sum + count, begun)).toBe(900);
  });

  it('has its last line within the five, whatever is reported meanwhile', () => {
    outage(1);
    health.report(new Error('something else'));
    health.down(new Error('Connection is closed.'));
    health.report(new Error('another thing'));
    expect(lines).toHaveLength(4);
    health.up();
    expect(lines).toHaveLength(5);
    expect(lines.at(-1)).toMatch(/is back after/);
  });

  it('is told when it lasts, though the short ones before it have used up the lines', () => {
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
  ])('that is a refusal to store (%s) ends when something was stored, not when it answers', (text, line) => {
    health.report(new Error(text));
    health.up();
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(lines[0]).toContain(KEPT);
    jest.advanceTimersByTime(5_000);
    health.stored();
    expect(lines[1]).toBe('The queue on Redis is back after 5 s.');
  });

  it('is not followed by another one when a statement of before is given up', () => {
    jest.advanceTimersByTime(1_000);
    const askedAt = performance.now();
    outage(5);
    health.failed(new Error('timeout expired'), 'SELECT', askedAt);
    expect(health.isUp).toBe(true);
    jest.advanceTimersByTime(1);
    health.failed(new Error('timeout expired'), 'SELECT', performance.now());
    expect(health.isUp).toBe(false);
  });

  it('ends, where a statement was refused, when that is stored, and not when others are answered', () => {
    health.failed(Object.assign(new Error('no room'), { code: '53100' }), 'INSERT');
    health.answered(1, 'UPDATE');
    health.answered(1, undefined);
    expect(health.isUp).toBe(false);
    health.answered(1, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('ends, where several statements were refused, when all of them are stored', () => {
    for (const statement of ['INSERT', 'UPDATE']) health.failed(DISK_FULL, statement);
    health.answered(1, 'UPDATE');
    expect(health.isUp).toBe(false);
    health.answered(1, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('lasts while jobs are refused, where what a probe stores fits on a disk that is all but full', () => {
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

  it('lasts while a function is missing that is needed only once a minute, until it is there again', () => {
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

  it('ends with each probe where nothing but a question runs out of time again and again', () => {
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

  it('is told with its reason when the server turns out to be none for the queue', () => {
    health.down(new UnsupportedQueueServerError('it has the encoding LATIN1', 'Make another one.'));
    expect(lines).toEqual([expect.stringContaining('it has the encoding LATIN1. Make another one.')]);
  });

  it('ends with a probe all the same when nothing is refused any more', () => {
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
  ])('is told with words for the code %s, and with nothing that a driver said', (code, line) => {
    health.down(Object.assign(new Error('for user "alice" at db.example.com'), { code }));
    expect(lines).toEqual([expect.stringMatching(line)]);
    expect(lines[0]).not.toMatch(/alice|example/);
  });

  it('does not end with the answer to a statement that was asked before it was refused', () => {
    jest.advanceTimersByTime(10);
    health.failed(Object.assign(new Error('permission denied'), { code: '42501' }), 'INSERT');
    health.answered(5, 'INSERT');
    expect(health.isUp).toBe(false);
    health.answered(11, 'INSERT');
    expect(health.isUp).toBe(true);
  });

  it('does not begin again with the report of a refusal that its pool has told of', () => {
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

  it('does not say that everything is in a folder that was removed', () => {
    health.down(new EmbeddedQueueBrokenError({ removed: '/data/.analytics' }));
    expect(lines).toEqual([
      expect.stringMatching(
        /until the process is restarted\. Everything that waited was in that folder: .* put it back first\.$/,
      ),
    ]);
  });

  it('names file handles where it lacks them, and what to raise', () => {
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

  it('that is a crash of the embedded database is told even in another outage, and lasts', () => {
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

  it('that is silence says for how long', () => {
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
    /^The tables `nestjs_analytics\.a`, .* and `nestjs_analytics\.f` of .* are there again; those that a process has made/,
  );

  it('have one line when they are missing, and one when they are there again', () => {
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

  it('are told of although a process that starts makes them again at once', () => {
    remove();
    restore();
    jest.advanceTimersByTime(1_000);
    expect(lines).toEqual([missing, back]);
  });

  it('are told of as soon as there is room for that', () => {
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

  it('are looked for while they are missing, and not after', async () => {
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
