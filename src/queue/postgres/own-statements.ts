import { promotingFew } from './bounded-promotion.js';
import { removingFew } from './bounded-retention.js';
import { findingNextDelayedJob } from './next-delayed-job.js';
import { checkingActiveJobs } from './stalled-check.js';

/**
 * Returns the statement to run in place of BullMQ's. Statements that read or lock more than they need are replaced. All
 * others stay as they are, including those that a later version of BullMQ words differently.
 */
export function ownStatementFor(text: string): string {
  return removingFew(promotingFew(checkingActiveJobs(findingNextDelayedJob(text))));
}
