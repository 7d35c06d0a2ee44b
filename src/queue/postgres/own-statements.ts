import { promotingFew } from './bounded-promotion.js';
import { removingFew } from './bounded-retention.js';
import { findingNextDelayedJob } from './next-delayed-job.js';
import { checkingActiveJobs } from './stalled-check.js';

/**
 * The statement to run where BullMQ wants another one. Those that read or lock more than they need are replaced. All
 * others are kept as they are, also if a later version of BullMQ words one differently.
 */
export function ownStatementFor(text: string): string {
  return removingFew(promotingFew(checkingActiveJobs(findingNextDelayedJob(text))));
}
