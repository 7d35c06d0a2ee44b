import { describe, expect, it } from '@jest/globals';
import type { BatchState } from '../../src/queue/job-ids.js';
import { JobReading, type JobSelection } from '../../src/queue/job-reading.js';
import type { StoredJob } from '../../src/queue/stored-job.js';

const ALL: JobSelection = { states: ['failed', 'delayed', 'waiting', 'active'] };

function storedJob(jobId: string, failedAt: number | undefined): StoredJob {
  const empty = { batches: [], unreadable: undefined, failedReason: undefined };
  return { ...empty, jobId, addedAt: 0, failedAt, failedRetention: 1_000 };
}

/** Jobs whose states a test changes while they are read. Failed jobs come latest first. */
class ChangingJobs {
  private readonly states = new Map<string, BatchState>();
  private readonly failedAt = new Map<string, number>();

  move(state: BatchState, ...ids: string[]): void {
    for (const id of ids) {
      this.states.set(id, state);
      if (state === 'failed') this.failedAt.set(id, this.failedAt.size);
    }
  }

  /** Yields the id and the state of each job that is read. */
  async *read(selection: JobSelection): AsyncGenerator<string, void> {
    const reading = new JobReading(selection, this, (ids) =>
      Promise.resolve(ids.map((id) => storedJob(id, this.failedAt.get(id)))),
    );
    for await (const [{ jobId }, state] of reading.jobs()) yield `${jobId} ${state}`;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- As `JobIds` has it.
  async *inState(state: BatchState): AsyncGenerator<string[], void> {
    const ids = [...this.states].filter(([, found]) => found === state).map(([id]) => id);
    yield ids.sort((one, other) => (this.failedAt.get(other) ?? 0) - (this.failedAt.get(one) ?? 0));
  }
}

describe('jobs that are read while they move', () => {
  it('come once: failed jobs first, and last those that fail meanwhile', async () => {
    const jobs = new ChangingJobs();
    jobs.move('failed', 'old', 'older');
    jobs.move('delayed', 'stays', 'moves');
    jobs.move('active', 'fails', 'ends');
    const found: string[] = [];
    for await (const job of jobs.read(ALL)) {
      found.push(job);
      if (job === 'older failed') jobs.move('failed', 'fails');
      if (job === 'moves delayed') jobs.move('active', 'moves');
    }
    expect(found).toEqual([
      ...['older failed', 'old failed', 'stays delayed', 'moves delayed'],
      ...['ends active', 'fails failed'],
    ]);
  });

  it('are found even if nothing had failed before', async () => {
    const jobs = new ChangingJobs();
    jobs.move('delayed', 'stays');
    jobs.move('active', 'fails');
    const found: string[] = [];
    for await (const job of jobs.read(ALL)) {
      found.push(job);
      jobs.move('failed', 'fails');
    }
    expect(found).toEqual(['stays delayed', 'fails failed']);
  });
});

describe('jobs that take long', () => {
  it('leave the event loop a turn after each of them', async () => {
    const jobs = new ChangingJobs();
    jobs.move('failed', ...Array.from({ length: 10 }, (_, n) => `job ${n}`));
    let turns = 0;
    let immediate = setImmediate(function turn() {
      turns++;
      immediate = setImmediate(turn);
    });
    for await (const job of jobs.read({ states: ['failed'] })) {
      expect(job).toMatch(/failed$/);
      const end = performance.now() + 15;
      while (performance.now() < end);
    }
    clearImmediate(immediate);
    expect(turns).toBeGreaterThanOrEqual(10);
  });
});
