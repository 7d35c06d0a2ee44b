import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds for which the cores are watched. */
const WATCHED = 100;
/** Share of the cores' time that has to be idle. */
const IDLE = 0.1;
/** Milliseconds after which a spec begins in any case: something else may keep the machine busy. */
const PATIENCE = 300_000;

/**
 * Waits until the cores have time for another spec. There are more workers than cores, because many specs mostly wait.
 * But some specs load the cores so much that others beside them would run into their timeouts.
 */
export async function idleCores() {
  const end = performance.now() + PATIENCE;
  for (let before = times(); performance.now() < end; before = times()) {
    await delay(WATCHED);
    const { all, idle } = times();
    if (idle - before.idle >= IDLE * (all - before.all)) return;
  }
}

function times() {
  const ofCores = cpus().map((core) => core.times);
  const all = ofCores.flatMap((ofCore) => Object.values(ofCore)).reduce((sum, time) => sum + time, 0);
  return { all, idle: ofCores.reduce((sum, { idle }) => sum + idle, 0) };
}
