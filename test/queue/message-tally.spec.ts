import { describe, expect, it } from '@jest/globals';
import { JobSample } from '../../src/queue/job-sample.js';
import { type Estimate, MessageTally } from '../../src/queue/message-tally.js';
import { messageIds } from '../support/message-ids.js';

/** Returns the estimate from a sample that keeps some of the jobs with these ids. */
function estimateOf(
  ids: readonly string[],
  kept: number,
  messagesOf: (id: string) => Record<string, number>,
  destination = 'crm',
): Estimate {
  const sample = new JobSample(kept);
  for (const id of ids) sample.add(id);
  const tally = new MessageTally();
  for (const id of sample.ids) tally.add(new Map(Object.entries(messagesOf(id))));
  return tally.estimate(destination, sample);
}

describe('an estimate of the waiting messages', () => {
  const ids = messageIds('job', 50_000);

  it('is exact if all jobs are read, even if they were found twice', () => {
    const found = [...ids.slice(0, 900), ...ids.slice(0, 900)];
    expect(estimateOf(found, 1_000, () => ({ crm: 3, mail: 1 }))).toEqual({ messages: 2_700, error: 0 });
  });

  it('is within its stated error if a sample is read, and near enough to correct a total', () => {
    const sizes = (id: string): Record<string, number> => ({ crm: 1 + (Number(id.slice(4)) % 20) });
    const { messages, error } = estimateOf(ids, 10_000, sizes);
    expect(Math.abs(messages - 525_000)).toBeLessThanOrEqual(error);
    expect(error).toBeLessThan(0.15 * 525_000);
  });

  it.each([0, 60])('has a large error for a destination of only %i of many jobs', (count) => {
    const rare = new Set(ids.slice(0, count));
    const sizes = (id: string): Record<string, number> => (rare.has(id) ? { crm: 1 } : { mail: 1 });
    const { messages, error } = estimateOf(ids, 1_000, sizes);
    expect(Math.abs(messages - count)).toBeLessThanOrEqual(error);
    expect(error).toBeGreaterThan(100);
  });

  it('allows for jobs that disappear before they are read', () => {
    const sample = new JobSample(10);
    const tally = new MessageTally();
    for (const id of ids.slice(0, 4)) sample.add(id);
    for (let n = 0; n < 3; n++) tally.add(new Map([['crm', 5]]));
    tally.gone();
    expect(tally.estimate('crm', sample)).toEqual({ messages: 20, error: 5 });
  });

  it('has an infinite error while no job was read', () => {
    const sample = new JobSample(10);
    for (const id of ids.slice(0, 4)) sample.add(id);
    expect(new MessageTally().estimate('crm', sample)).toEqual({ messages: 0, error: Infinity });
  });
});
