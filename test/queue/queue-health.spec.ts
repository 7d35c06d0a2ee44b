import { describe, expect, it } from '@jest/globals';
import { QueueHealth } from '../../src/queue/queue-health.js';

function healthOf(lines: string[]): QueueHealth {
  const add = (line: string): void => void lines.push(line);
  return new QueueHealth('Redis', { warn: add, log: add });
}

describe('what the queue reports of itself', () => {
  it('is told once, however many jobs it is about', () => {
    const lines: string[] = [];
    const health = healthOf(lines);
    health.report(new Error('Lock mismatch for job 1f0c-a. Cmd moveToFinished from active'));
    health.report(new Error('Lock mismatch for job 2e1d-b. Cmd moveToFinished from active'));
    health.report(new Error('could not renew lock for job 1f0c-a'));
    health.report(new Error('could not renew lock for job 2e1d-b'));
    expect(lines).toEqual([
      'The queue on Redis reports: Lock mismatch for job 1f0c-a. Cmd moveToFinished from active',
      'The queue on Redis reports: could not renew lock for job 1f0c-a',
    ]);
  });

  it('is not told where it only repeats that the connection is lost', () => {
    const lines: string[] = [];
    healthOf(lines).report(new Error('Connection is closed.'));
    expect(lines).toEqual([]);
  });
});
