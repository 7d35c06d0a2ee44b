import { startApplication } from './application-child.js';
import type { Backend } from './describe-backend.js';
import { messageIds, receivedIds } from './message-ids.js';
import { randomFrom } from './random.js';
import { type Stage, webhooksTo } from './stage.js';

export interface KillRounds {
  rounds: number;
  /** That each round takes. */
  messages: number;
  /** Decides when each process is killed. */
  seed: number;
}

/** What is left to complain about after all rounds. */
export interface KillReport {
  /** Messages that were safely in the queue at some time. */
  acknowledged: number;
  /** Those of them that never arrived. */
  lost: string[];
  /** Jobs that are still in the queue, whatever their state. */
  left: Record<string, number>;
}

/** The latest kill of a flush, in milliseconds after it began, for each of its messages. */
const LONGEST_FLUSH = 0.2;

/**
 * Kills an application again and again: each round takes messages and flushes them, and is killed in
 * turn during the flush, during the deliveries, or as soon as the flush has ended. In the end an application
 * that nobody kills delivers what is left.
 */
export async function runKillRounds(
  backend: Backend,
  stage: Stage,
  { rounds, messages, seed }: KillRounds,
): Promise<KillReport> {
  const random = randomFrom(seed);
  const receiver = await stage.receiver();
  // Shares every job with the other, and has a part of each tried again.
  const taken = new Set<string>();
  const unsteady = await stage.receiver({
    answer: ({ headers }, index) => {
      if (index % 7 === 0) return 503;
      taken.add(String(headers['webhook-id']));
      return 200;
    },
  });
  const options = {
    connection: backend.connection,
    // A short deadline makes short locks, so that what a killed process held is soon taken up again. A busy
    // machine may miss it, so the retries come soon, too.
    webhooks: Object.entries({ receiver, unsteady }).map(([id, to]) =>
      webhooksTo(to, { id, timeout: 1_000, retryWindow: 600_000 }),
    ),
  };
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const ids = messageIds(`round-${round}`, messages);
    const delivered = receiver.requests.length;
    const moment = random();
    const child = await startApplication({ ...options, take: ids, flush: true, end: 'kill' });
    if (round % 3 === 0) {
      await child.waitFor(/^taken$/);
      await new Promise((resolve) => setTimeout(resolve, moment * messages * LONGEST_FLUSH));
    } else {
      await child.waitFor(/^queued$/);
      acknowledged.push(...ids);
      if (round % 3 === 1) await receiver.received(delivered + Math.floor(moment * messages));
    }
    await child.stop('SIGKILL');
  }
  const survivor = await stage.app(options);
  await survivor.settled();
  const received = new Set(receivedIds(receiver));
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter((id) => !received.has(id) || !taken.has(id)),
    left: await survivor.queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed'),
  };
}
