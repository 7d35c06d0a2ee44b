import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** How long the cores are watched, in milliseconds. */
const WATCHED = 100;
/** The part of their time that has to be idle. */
const IDLE = 0.1;
/** After so many milliseconds a spec begins all the same: something else may keep the machine busy. */
const PATIENCE = 300_000;

/**
 * Waits until the cores have time for one more spec. Many specs mostly wait, so there are more workers than cores, and some
 * load the cores so much that others, begun beside them, would run into their timeouts.
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
