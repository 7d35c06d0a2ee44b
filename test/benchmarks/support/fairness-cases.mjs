import { DeliveryScene } from './delivery-scene.mjs';
import { FreshMessages, pause } from './fresh-messages.mjs';
import { sharedClock } from './timed-receiver.mjs';
import { addWaiting } from './waiting-messages.mjs';

/** How long a slow receiver takes for an answer, in milliseconds. */
export const ANSWER_TIME = 100;
/** Sockets that a process has for an origin unless it is told. */
const CONNECTIONS = 64;
/** From when all that waits was looked at until a queue is in its steady state, in milliseconds. */
const WARM_UP = 5_000;
/** How long fresh messages are sent, in milliseconds. */
const DURATION = 10_000;
/** A turn of the slow destination alone, or of both, in milliseconds. */
const TURN = 4_000;
/** Before either is counted: what was begun in the turn before has ended. */
const BETWEEN_TURNS = 500;
const TURNS = 3;
/** How long a process that starts may take for its first message, in milliseconds, before it is given up. */
const START_PATIENCE = 60_000;

const SLOW = { delay: ANSWER_TIME };
const IDLE = { told: true };

/** One destination answers slowly; the other one's messages come now and then. */
export function slow({ waiting, ...where }) {
  return inScene({ ...where, origins: [{ '/slow': SLOW }, { '/idle': IDLE }] }, async (scene, fresh) => {
    const start = await begin(scene, fresh, { slow: waiting });
    const turns = { alone: [], shared: [] };
    let filledUp = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [kind, rates] of Object.entries(turns)) {
        await pause(BETWEEN_TURNS);
        rates.push(await rateOf(scene, 'slow', kind === 'shared' ? fresh : undefined));
        // Each turn begins with as many waiting as the first.
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

/** One destination takes nothing at all. */
export function down({ waiting, ...where }) {
  const origins = [{ '/down': { status: 503 } }, { '/idle': IDLE }];
  return inScene({ ...where, origins }, async (scene, fresh) => {
    const start = await begin(scene, fresh, { down: waiting });
    await fresh.sendFor(DURATION);
    await fresh.settled();
    return { start, ...fresh.take() };
  });
}

/** Many destinations answer slowly at once; what waits for them lies in the queue one after the other. */
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

/** A slow path and a fast one of the same origin: how much later is the fast one's message because of the other? */
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

/** Starts on a backlog; returns the milliseconds until a message has come to a destination that has none. */
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

/** Messages a second that a destination gets in one turn, with fresh messages for the idle one or without. */
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
