import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConnectionShortage } from '../../../src/queue/postgres/connection-shortage.js';

let connections: number;
let told: string[];
let shortage: ConnectionShortage;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  connections = 0;
  told = [];
  const report = ({ message }: Error): boolean =>
    told.push(/\d+ open connections?/.exec(message)?.[0] ?? '') > 0;
  shortage = new ConnectionShortage(() => connections, { isUp: true, report });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Opens or closes connections up to a number. Then one more is refused every two seconds for some time. */
function refusedAt(count: number, seconds: number): void {
  const isMore = count > connections;
  connections = count;
  if (isMore) shortage.connected();
  for (let second = 0; second < seconds; second += 2) {
    shortage.refused();
    jest.advanceTimersByTime(2_000);
  }
}

describe('a server that gives no more connections', () => {
  it('is reported again with fewer connections, and with more after a while without refusals', () => {
    refusedAt(5, 60);
    expect(told).toEqual(['5 open connections']);
    refusedAt(3, 60);
    expect(told).toEqual(['5 open connections', '3 open connections']);
    jest.advanceTimersByTime(120_000);
    refusedAt(4, 60);
    expect(told).toEqual(['5 open connections', '3 open connections', '4 open connections']);
  });

  it('is reported only a few times if the number of connections goes up and down for hours', () => {
    for (let round = 0; round < 100; round++) for (const count of [5, 3, 4, 5, 3, 2, 4]) refusedAt(count, 20);
    expect(told).toEqual(['5 open connections', '3 open connections', '2 open connections']);
  });

  it('is not reported again after two refusals', () => {
    refusedAt(5, 60);
    connections = 4;
    shortage.refused();
    jest.advanceTimersByTime(30_000);
    shortage.refused();
    jest.advanceTimersByTime(30_000);
    expect(told).toEqual(['5 open connections']);
  });
});
