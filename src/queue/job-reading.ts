import { chunksOf } from '../shared/chunks.js';
import { TimeSlice } from '../shared/time-slice.js';
import type { BatchState, JobIds } from './job-ids.js';
import { SeenJobs } from './seen-jobs.js';
import type { StoredJob } from './stored-job.js';

/** Jobs read at once: the largest hold a megabyte each. */
const PAGE = 10;
/** Number of the newest failed jobs that are remembered, to tell which jobs failed during the reading. */
const REMEMBERED = 100;

/** Which jobs are read. */
export interface JobSelection {
  /** States in the order in which they are read. All but `failed` have to be in the order in which a job moves. */
  states: readonly BatchState[];
  /** Leaves out the jobs whose ids name another destination. @default none are left out */
  destinations?: ReadonlySet<string> | undefined;
  /** Ends the reading, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads jobs of one partition as they are asked for, page by page. There may be a million, so only a few ids of failed
 * jobs are remembered.
 *
 * A job that stays in its state comes once, whatever is added and removed meanwhile. If only failed jobs are read, jobs
 * that fail meanwhile are left out, unless the clock of their worker is behind. If other states are read as well, a job
 * that moves on meanwhile comes once, in one of its states.
 */
export class JobReading {
  private readonly seen = new SeenJobs();
  /** Ids of the failed jobs that were read first, which are the newest. */
  private readonly latest = new Set<string>();
  private latestAt = -Infinity;

  /** @param read returns the jobs with these ids that are still there */
  constructor(
    private readonly selection: JobSelection,
    private readonly ids: Pick<JobIds, 'inState'>,
    private readonly read: (ids: readonly string[]) => Promise<StoredJob[]>,
  ) {}

  /** Yields the jobs of one state after the other, newest first. */
  async *jobs(): AsyncGenerator<[job: StoredJob, state: BatchState], void> {
    const { states } = this.selection;
    for (const state of states) {
      const isFailed = state === 'failed';
      for await (const job of this.jobsOf(isFailed ? this.idsIn(state) : this.newIdsIn(state))) {
        if (isFailed) this.remember(job);
        yield [job, state];
      }
    }
    if (states.length === 1 || !states.includes('failed')) return;
    // Jobs that failed after the failed jobs were read, and had left the other states before those were read.
    for await (const job of this.jobsOf(this.idsOfLaterFailed())) {
      if ((job.failedAt ?? Infinity) <= this.latestAt) return;
      yield [job, 'failed'];
    }
  }

  private remember({ jobId, failedAt = -Infinity }: StoredJob): void {
    if (this.latest.size >= REMEMBERED) return;
    this.latest.add(jobId);
    this.latestAt = Math.max(this.latestAt, failedAt);
  }

  private idsIn(state: BatchState): AsyncGenerator<string[], void> {
    return this.ids.inState(state, this.selection.destinations);
  }

  private async *newIdsIn(state: BatchState): AsyncGenerator<string[], void> {
    for await (const ids of this.idsIn(state)) yield ids.filter((id) => this.seen.add(id));
  }

  /** Yields ids of failed jobs up to the newest that is remembered. */
  private async *idsOfLaterFailed(): AsyncGenerator<string[], void> {
    for await (const ids of this.idsIn('failed')) {
      const end = ids.findIndex((id) => this.latest.has(id));
      yield (end < 0 ? ids : ids.slice(0, end)).filter((id) => this.seen.add(id));
      if (end >= 0) return;
    }
  }

  private async *jobsOf(pages: AsyncIterable<string[]>): AsyncGenerator<StoredJob, void> {
    const { signal } = this.selection;
    const slice = new TimeSlice();
    for await (const ids of pages) {
      for (const page of chunksOf(ids, PAGE)) {
        for (const job of await this.read(page)) {
          yield job;
          await slice.check();
        }
        signal?.throwIfAborted();
      }
      await slice.check();
      signal?.throwIfAborted();
    }
  }
}
