import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

const WORKER = fileURLToPath(new URL('worker-process.mjs', import.meta.url));

/** Starts a process that only delivers, with these options. */
export async function startWorker(options) {
  const child = fork(WORKER, [JSON.stringify(options)]);
  const ended = once(child, 'exit');
  const [first] = await Promise.race([once(child, 'message'), ended]);
  if (first !== 'ready') throw new Error(`A worker ended with ${first} before it was ready`);
  return {
    /** Microseconds of CPU that it has used so far. */
    cpu: () => ask(child, 'cpu'),
    async stop() {
      child.send('close');
      await ended;
    },
  };
}
