import { DeliveryScene } from './delivery-scene.mjs';
import { FreshMessages, pause } from './fresh-messages.mjs';
import { sharedClock } from './timed-receiver.mjs';
import { addWaiting } from './waiting-messages.mjs';

/** Milliseconds that a slow receiver takes to answer. */
export const ANSWER_TIME = 100;
/** Sockets that a process opens to an origin by default. */
const CONNECTIONS = 64;
/** Milliseconds until a queue is in its steady state, after every waiting job has been taken once. */
const WARM_UP = 5_000;
/** Milliseconds for which fresh messages are sent. */
const DURATION = 10_000;
/** Milliseconds of a turn, either of the slow destination alone or of both. */
const TURN = 4_000;
/** Milliseconds before a turn is counted, in which the work of the previous turn ends. */
const BETWEEN_TURNS = 500;
const TURNS = 3;
/** Milliseconds until the wait for the first message of a process that starts is given up. */
const START_PATIENCE = 60_000;

const SLOW = { delay: ANSWER_TIME };
const IDLE = { told: true };

/** One destination answers slowly. Messages to the other one come now and then. */
export function slow({ waiting, ...where }) {
  return inScene({ ...where, origins: [{ '/slow': SLOW }, { '/idle': IDLE }] }, async (scene, fresh) => {
    const start = await begin(scene, fresh, { slow: waiting });
    const turns = { alone: [], shared: [] };
    let filledUp = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [kind, rates] of Object.entries(turns)) {
        await pause(BETWEEN_TURNS);
        rates.push(await rateOf(scene, 'slow', kind === 'shared' ? fresh : undefined));
        // Each turn begins with as many waiting messages as the first.
        const { slow: taken } = await scene.received();
        await addWaiting(scene.app, 'slow', taken - filledUp);
        filledUp = taken;
      }
    }
    await fresh.settled();
    const [alone, shared] = [sum(turns.alone), sum(turns.shared)];
    const rate = alone / TURNS;
    const most = (CONNECTIONS * where.processes * 1_000) / ANSWER_TIME;
    return { start, ...fresh.take(), kept: shared / alone, rate, ofMost: rate / most };
  });
}

/** One destination accepts nothing at all. */
export function down({ waiting, ...where }) {
  const origins = [{ '/down': { status: 503 } }, { '/idle': IDLE }];
  return inScene({ ...where, origins }, async (scene, fresh) => {
    const start = await begin(scene, fresh, { down: waiting });
    await fresh.sendFor(DURATION);
    await fresh.settled();
    return { start, ...fresh.take() };
  });
}

/** Many destinations answer slowly at once. Their messages wait in the queue, one destination after another. */
export function many({ waiting, destinations, ...where }) {
  const names = Array.from({ length: destinations }, (_, index) => `slow-${index}`);
  const origins = [...names.map((name) => ({ [`/${name}`]: SLOW })), { '/idle': IDLE }];
  return inScene({ ...where, origins }, async (scene, fresh) => {
    const waitingFor = Object.fromEntries(names.map((name) => [name, waiting / destinations]));
    const start = await begin(scene, fresh, waitingFor);
    const before = await scene.received();
    await fresh.sendFor(DURATION);
    const after = await scene.received();
    const counts = names.map((name) => (after[name] ?? 0) - (before[name] ?? 0));
    const mean = sum(counts) / destinations;
    await fresh.settled();
    const unequal = Math.max(...counts.map((count) => Math.abs(count - mean) / mean));
    return { start, ...fresh.take(), unequal, rate: sum(counts) / (DURATION / 1_000) };
  });
}

/** Shows how much later the messages to a fast path arrive because of a slow path of the same origin. */
export function oneOrigin({ waiting, ...where }) {
  return inScene({ ...where, origins: [{ '/slow': SLOW, '/idle': IDLE }] }, async (scene, fresh) => {
    await scene.start();
    await fresh.sendFor(DURATION / 2);
    await fresh.settled();
    const alone = fresh.take();
    await addWaiting(scene.app, 'slow', waiting);
    await pause(WARM_UP);
    await fresh.sendFor(DURATION);
    await fresh.settled();
    const shared = fresh.take();
    return { ...shared, rise: shared.p99 - alone.p99 };
  });
}

async function inScene(options, measure) {
  const fresh = new FreshMessages();
  const scene = await DeliveryScene.open({ ...options, onArrival: (id, at) => fresh.arrived(id, at) });
  fresh.track = () => scene.track('idle');
  try {
    return await measure(scene, fresh);
  } finally {
    await scene.close();
  }
}

/** Starts on a backlog. Resolves to the milliseconds until a message has reached a destination without a backlog. */
async function begin(scene, fresh, waiting) {
  await scene.prepare(waiting);
  const startedAt = sharedClock();
  await scene.start();
  fresh.send();
  await fresh.settled(START_PATIENCE);
  const start = sharedClock() - startedAt;
  fresh.take();
  await scene.sorted();
  await pause(WARM_UP);
  return start;
}

/** Resolves to the messages a second that a destination gets in a turn, with or without messages to the idle one. */
async function rateOf(scene, destination, fresh) {
  const before = await scene.received();
  const begun = sharedClock();
  await (fresh === undefined ? pause(TURN) : fresh.sendFor(TURN));
  const seconds = (sharedClock() - begun) / 1_000;
  const after = await scene.received();
  return (after[destination] - before[destination]) / seconds;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
