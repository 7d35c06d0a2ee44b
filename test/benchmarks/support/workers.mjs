import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ask } from './ask.mjs';

/** Starts a process that only delivers, with these options. */
export function startWorker(options) {
  return start('worker-process.mjs', options);
}

/** Starts a process that only posts what it has prepared. */
export async function startBareClient(options) {
  const { child, ...client } = await start('bare-process.mjs', options);
  return {
    ...client,
    prepare: (count) => ask(child, { prepare: count }),
    /** Has the process post the next requests. The receiver reports their arrival. */
    post: (count) => child.send({ post: count }),
  };
}

async function start(file, options) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)]);
  const ended = once(child, 'exit');
  const [first] = await Promise.race([once(child, 'message'), ended]);
  if (first !== 'ready') throw new Error(`A worker ended with ${first} before it was ready`);
  return {
    child,
    /** Resolves to the microseconds of CPU that the process has used so far. */
    cpu: () => ask(child, 'cpu'),
    async stop() {
      child.send('close');
      await ended;
    },
  };
}
