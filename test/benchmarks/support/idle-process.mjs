import { fork } from 'node:child_process';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const RESOLUTION = 1;

/**
 * Starts a process that only waits for its timer. If the timer is late, the machine is the reason: the processor was
 * given to other processes or, on a virtual machine, perhaps to other machines.
 */
export function startIdleProcess() {
  const child = fork(fileURLToPath(import.meta.url), ['idle']);
  return {
    start: () => ask(child, 'start'),
    /** Resolves to the longest delay of its timer since the start, in milliseconds. */
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
