import { afterEach, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { describeRedis, describeWith } from '../support/describe-backend.js';
import {
  faultyCluster,
  faultyPostgres,
  type FaultyQueue,
  faultyRedis,
  faultySentinel,
} from '../support/faulty-queues.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { PostgresServer } from '../support/postgres-server.js';
import { randomFrom } from '../support/random.js';
import { destinationsBySource, Stage } from '../support/stage.js';
import { until } from '../support/until.js';

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 12);
/** `CHAOS_SEED` repeats the random choices of a run. */
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 2 ** 31);
/** Maximum number of faults in one round. */
const MAX_FAULTS = 3;
/** Latest start and longest duration of a fault, in milliseconds. */
const LATEST_BEGINNING = 4_000;
const LONGEST = 15_000;
/** Milliseconds within which a message has to arrive after all faults are over. */
const RECOVERY_TIME = 60_000;
const HEALTHY = ['a', 'b', 'c', 'd'];
/** Adds two: one refuses the first attempt of every third message, the other hangs during some of the faults. */
const DESTINATIONS = [...HEALTHY, 'unsteady', 'hanging'];
const MINUTE = 60_000;

/** Result of tracking while faults come and go. */
interface Report {
  tracked: number;
  /** Messages that never arrived. */
  lost: string[];
  /** Faults after which a message did not arrive in time. */
  stuckAfter: string[];
}

/** Combines faults while two processes deliver, one of which is killed now and then. */
async function runFaults(queue: FaultyQueue, stage: Stage): Promise<Report> {
  process.stdout.write(`CHAOS_SEED=${SEED}\n`);
  const random = randomFrom(SEED);
  const arrived = new Set<string>();
  const tried = new Set<string>();
  const state = { hangs: false };
  const receiver = await stage.receiver({
    answer: ({ url, headers }) => {
      // Messages are counted here: all of their bodies would take too much memory.
      receiver.requests.length = 0;
      const id = String(headers['webhook-id']);
      const isFirstTry = !tried.has(id);
      tried.add(id);
      if (url === '/unsteady' && isFirstTry && tried.size % 3 === 0) return 503;
      if (url === '/hanging' && state.hangs) return () => undefined;
      arrived.add(id);
      return 200;
    },
  });
  const { connection } = queue;
  const options = {
    connection,
    flushAfter: 100,
    ...destinationsBySource(receiver.urls(DESTINATIONS), { timeout: 2_000, retryWindow: 60 * MINUTE }),
  };
  const app = await stage.app(options);
  const ids: string[] = [];
  const track = (destination: string): string => {
    const id = app.analytics.source(destination).track({ userId: 'u1', event: 'Under load' });
    ids.push(id);
    return id;
  };
  const hasArrived = (id: string): true | undefined => arrived.has(id) || undefined;
  const load = setInterval(() => {
    for (const destination of DESTINATIONS) track(destination);
  }, 50);
  const startWorker = async (): ReturnType<typeof startApplication> => {
    const worker = await startApplication({ ...options, end: 'kill' });
    await worker.waitFor(/^started$/);
    worker.drain();
    return worker;
  };
  let worker = await startWorker();
  const stuckAfter: string[] = [];
  const names = Object.keys(queue.faults);
  for (let round = 0; round < ROUNDS && stuckAfter.length === 0; round++) {
    const chosen = Array.from({ length: 1 + Math.floor(random() * MAX_FAULTS) }, () => ({
      name: names[Math.floor(random() * names.length)] ?? '',
      beginning: random() * LATEST_BEGINNING,
      // Most faults are short.
      duration: Math.floor(LONGEST * random() ** 2),
    }));
    state.hangs = random() < 1 / 3;
    if (random() < 1 / 3) {
      await worker.stop('SIGKILL');
      worker = await startWorker();
    }
    await Promise.all(
      chosen.map(async ({ name, beginning, duration }) => {
        await pause(beginning);
        await queue.faults[name]?.(duration);
      }),
    );
    await queue.heal();
    state.hangs = false;
    const probes = HEALTHY.map(track);
    const recovered = Promise.all(probes.map((id) => until(() => hasArrived(id))));
    const isStuck = await Promise.race([recovered.then(() => false), pause(RECOVERY_TIME).then(() => true)]);
    if (isStuck) stuckAfter.push(chosen.map(({ name, duration }) => `${name} (${duration} ms)`).join(', '));
  }
  clearInterval(load);
  if (stuckAfter.length === 0) {
    await app.analytics.flush();
    await app.settled();
  }
  await worker.stop('SIGKILL');
  return { tracked: ids.length, lost: ids.filter((id) => !arrived.has(id)), stuckAfter };
}

function goesOn(open: () => Promise<FaultyQueue>): void {
  const stage = new Stage();
  let queue: FaultyQueue | undefined;
  afterEach(() => queue?.close());

  it(
    'delivers again after each round of faults',
    async () => {
      queue = await open();
      const { tracked, lost, stuckAfter } = await runFaults(queue, stage);
      expect(stuckAfter).toEqual([]);
      expect(tracked).toBeGreaterThan(0);
      // A replica that takes over may lack the last writes that its master acknowledged.
      if (!queue.hasReplicas) expect(lost).toEqual([]);
    },
    30 * MINUTE,
  );
}

describeRedis('a queue with several faults at once, on a Redis', () => {
  goesOn(faultyRedis);
});

describeRedis('a queue with several faults at once, on a Redis Cluster', () => {
  goesOn(() => faultyCluster({ replicas: false }));
});

describeRedis('a queue with several faults at once, on a Redis Cluster with replicas', () => {
  goesOn(() => faultyCluster({ replicas: true }));
});

describeRedis('a queue with several faults at once, on a Redis with a Sentinel', () => {
  goesOn(faultySentinel);
});

describeWith(
  'postgres',
  PostgresServer.installed,
  'a queue with several faults at once, on a PostgreSQL',
  () => {
    goesOn(() => faultyPostgres({ pooled: false }));
  },
);

describeWith(
  'pgbouncer',
  PgBouncer.installed,
  'a queue with several faults at once, behind a PgBouncer',
  () => {
    goesOn(() => faultyPostgres({ pooled: true }));
  },
);

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
