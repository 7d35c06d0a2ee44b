import { expect, it } from '@jest/globals';
import { JobMemory } from '../../src/delivery/job-memory.js';
import { type PutBackJob, PutBackJobs } from '../../src/delivery/put-back-jobs.js';

const jobs = (name: string, count: number): PutBackJob[] =>
  Array.from({ length: count }, (_, n) => {
    return { key: `${name}${n}`, messages: 1, dueAt: Date.now() + 60_000, refusedBy: [] };
  });

it('The parts of a batch that had its turn come before other jobs, in order, however many there are', () => {
  const putBack = new PutBackJobs(new JobMemory());
  putBack.add(jobs('whole', 3), false);
  putBack.add(jobs('older', 95), true);
  putBack.add(jobs('part', 7), true);
  const promoted = putBack.promote(1_000, 1_000, Date.now(), () => false);
  // Each division goes through at most a hundred jobs.
  const inOrder = [...jobs('part', 5), ...jobs('older', 95), ...jobs('whole', 3)].map(({ key }) => key);
  expect(promoted).toEqual([...inOrder, 'part5', 'part6']);
});
