import type { BatchJobData, BatchMessage } from '../../src/queue/batch-job.js';

/** Returns the messages of some jobs, for all destinations. */
export function queuedMessages(...jobs: ({ data: BatchJobData } | undefined)[]): BatchMessage[] {
  return jobs.flatMap((job) => job?.data.batches ?? []).flatMap(({ messages }) => messages);
}
