import type { BatchJobData, BatchMessage } from '../../src/queue/batch-job.js';

/** The messages of some jobs, whichever destinations they are for. */
export function queuedMessages(...jobs: ({ data: BatchJobData } | undefined)[]): BatchMessage[] {
  return jobs.flatMap((job) => job?.data.batches ?? []).flatMap(({ messages }) => messages);
}
