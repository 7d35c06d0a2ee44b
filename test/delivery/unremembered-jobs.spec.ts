import { expect, it } from '@jest/globals';
import { UnrememberedJobs } from '../../src/delivery/unremembered-jobs.js';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

/** Counts this many jobs of two messages each that are put back for this long. */
function putBack(counted: UnrememberedJobs, jobs: number, delay: number, now = NOW): void {
  for (let n = 0; n < jobs; n++) counted.add(2, now + delay, now);
}

it('Jobs that are not remembered count until they are due, with their messages', () => {
  const counted = new UnrememberedJobs();
  putBack(counted, 100, MINUTE);
  expect(counted.waiting(NOW)).toEqual({ jobs: 100, messages: 200 });
  expect(counted.waiting(NOW + MINUTE / 2)).toEqual({ jobs: 50, messages: 100 });
  expect(counted.waiting(NOW + MINUTE)).toEqual({ jobs: 0, messages: 0 });
});

it('Jobs that are due soon do not count for longer because other jobs are due much later', () => {
  const counted = new UnrememberedJobs();
  putBack(counted, 1, 100 * MINUTE);
  putBack(counted, 100, MINUTE);
  expect(counted.waiting(NOW + MINUTE).jobs).toBeCloseTo(0.99);
});

it('Setting back the clock leaves no job counted for longer than it was put back for', () => {
  const counted = new UnrememberedJobs();
  putBack(counted, 100, MINUTE);
  const before = NOW - 1_000 * MINUTE;
  expect(counted.waiting(before).jobs).toBe(100);
  expect(counted.waiting(before + 2 * MINUTE).jobs).toBe(0);
});
