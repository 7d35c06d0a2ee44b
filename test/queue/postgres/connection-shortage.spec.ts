import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConnectionShortage } from '../../../src/queue/postgres/connection-shortage.js';

let connections: number;
let told: string[];
let shortage: ConnectionShortage;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  connections = 0;
  told = [];
  const report = ({ message }: Error): boolean => told.push(/\d+ connections?/.exec(message)?.[0] ?? '') > 0;
  shortage = new ConnectionShortage(() => connections, { isUp: true, report });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Connections come up to a number, or close. Then more of them are refused for some time, every two seconds. */
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
  it('is told of again where there come to be fewer, and where there are more when nothing was refused for a while', () => {
    refusedAt(5, 60);
    expect(told).toEqual(['5 connections']);
    refusedAt(3, 60);
    expect(told).toEqual(['5 connections', '3 connections']);
    jest.advanceTimersByTime(120_000);
    refusedAt(4, 60);
    expect(told).toEqual(['5 connections', '3 connections', '4 connections']);
  });

  it('is told of a few times where the number of connections goes up and down for hours', () => {
    for (let round = 0; round < 100; round++) for (const count of [5, 3, 4, 5, 3, 2, 4]) refusedAt(count, 20);
    expect(told).toEqual(['5 connections', '3 connections', '2 connections']);
  });

  it('is not told of again after two refusals', () => {
    refusedAt(5, 60);
    connections = 4;
    shortage.refused();
    jest.advanceTimersByTime(30_000);
    shortage.refused();
    jest.advanceTimersByTime(30_000);
    expect(told).toEqual(['5 connections']);
  });
});
