import { startApplication } from './application-child.js';
import type { Backend } from './describe-backend.js';
import { messageIds, receivedIds } from './message-ids.js';
import { randomFrom } from './random.js';
import { type Stage, webhooksTo } from './stage.js';

export interface KillRounds {
  rounds: number;
  /** Messages that each round takes. */
  messages: number;
  /** Decides when each process is killed. */
  seed: number;
}

/** What is wrong after all rounds. */
export interface KillReport {
  /** Number of messages that were once safely in the queue. */
  acknowledged: number;
  /** Acknowledged messages that never arrived. */
  lost: string[];
  /** Jobs that are still in the queue, whatever their state. */
  left: Record<string, number>;
}

/** Milliseconds for each message of a flush, within which the flush is killed. */
const LONGEST_FLUSH = 0.2;

/**
 * Kills an application again and again. In each round, it takes messages and flushes them, and is killed during the
 * flush, during the deliveries, or as soon as the flush has ended, in turn. At the end, an application that nobody
 * kills delivers the rest.
 */
export async function runKillRounds(
  backend: Backend,
  stage: Stage,
  { rounds, messages, seed }: KillRounds,
): Promise<KillReport> {
  const random = randomFrom(seed);
  const receiver = await stage.receiver();
  // Every job goes to both receivers. This one refuses some requests, so a part of each job is retried.
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
    // A short timeout makes short locks, so that another process soon takes up what a killed process held. A busy
    // machine may exceed the timeout, so the retries have to come soon, too.
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
