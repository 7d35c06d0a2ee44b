import type { Backend } from '../support/describe-backend.js';
import { GuardedChild } from '../support/child-process.js';
import { receivedIds } from '../support/message-ids.js';
import { messageIn } from '../support/received-message.js';
import { type Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const CHILD = new URL('./children/pay.ts', import.meta.url);
/** Longest time from a start or a first delivery to the kill, in milliseconds. */
const LONGEST_LIFE = 300;
/** One in this many processes is killed without waiting for its first delivery. */
const EARLY = 3;

/** Result of all kills. */
export interface OutboxKillReport {
  committed: number;
  /** Committed orders whose event never arrived. */
  lost: string[];
  /** Events that arrived and whose order was never committed. */
  untrue: string[];
  /** Events that arrived more than once, always under the same id. */
  repeated: number;
  /** Processes that had already delivered orders of their own when they were killed. */
  delivering: number;
}

/** Kills a shop the given number of times, at moments between an insert, a commit, the relay and the queue. */
export async function killShops(
  backend: Backend,
  stage: Stage,
  database: string,
  kills: number,
): Promise<OutboxKillReport> {
  const shop = await stage.add(Shop.open(database));
  /** The processes from which an order has arrived. */
  const arrived = new Set<string | undefined>();
  const receiver = await stage.receiver({
    answer: (request) => {
      arrived.add(messageIn(request).userId);
      return 200;
    },
  });
  const options = {
    writeKey: 'wk_test',
    connection: backend.connection,
    // A short timeout makes job locks short, so that the jobs of a killed process are soon taken over.
    webhooks: webhooksTo(receiver, { timeout: 1_000, retryWindow: 600_000 }),
    outbox: { connection: database, migrate: true },
  };
  let delivering = 0;
  for (let round = 0; round < kills; round++) {
    const userId = `round-${round}`;
    const plan = { shop: database, userId, ...options };
    const child = await GuardedChild.startScript(CHILD, [JSON.stringify(plan)]);
    await child.waitFor(/^started$/);
    // A queue may open long after the start, and the relay moves nothing before that.
    if (round % EARLY !== 0) await until(() => (arrived.has(userId) ? true : undefined));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_LIFE));
    await child.stop('SIGKILL');
    if (arrived.has(userId)) delivering++;
  }
  const survivor = await stage.app(options);
  await until(async () =>
    (await shop.rows('SELECT id FROM nestjs_analytics.outbox LIMIT 1')).length === 0 ? true : undefined,
  );
  await survivor.settled();
  const committed = (await shop.rows<{ id: string }>('SELECT id FROM orders')).map(({ id }) => id);
  const orders = new Set(committed);
  const received = new Set(receivedIds(receiver));
  return {
    committed: committed.length,
    lost: committed.filter((id) => !received.has(id)),
    untrue: [...received].filter((id) => !orders.has(id)),
    repeated: receiver.requests.length - received.size,
    delivering,
  };
}
