import { fork } from 'node:child_process';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const RESOLUTION = 1;

/**
 * A process that does nothing but wait for its timer. What keeps it waiting is the machine: the processor was
 * given to others, on a virtual machine perhaps to others' machines.
 */
export function startIdleProcess() {
  const child = fork(fileURLToPath(import.meta.url), ['idle']);
  return {
    start: () => ask(child, 'start'),
    /** The longest time since the start that its timer was late, in milliseconds. */
    longestStall: () => ask(child, 'stall'),
    stop: () => child.kill(),
  };
}

if (process.argv[2] === 'idle') {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  process.on('message', (question) => {
    const stall = Math.max(delays.max / 1e6 - RESOLUTION, 0);
    if (question === 'start') delays.reset();
    process.send(stall);
  });
}
