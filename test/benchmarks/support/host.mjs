import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('host-server.mjs', import.meta.url));

/** Between two requests, in milliseconds: few enough to be no load. */
const INTERVAL = 10;

/**
 * An application of somebody else's, in a process of its own, as its users see it.
 *
 * @param options those of the module; `undefined` for an application without it
 * @param rate events a second that it tracks
 */
export async function startHost({ options, rate }) {
  const child = fork(SERVER, [JSON.stringify({ options, rate })]);
  const exited = once(child, 'exit');
  const [port] = await Promise.race([once(child, 'message'), exited]);
  if (child.exitCode !== null) throw new Error(`A host ended with ${child.exitCode} before it was ready`);
  const agent = new Agent({ keepAlive: true });
  return {
    /** Asks for a plain answer now and then; resolves to how long each one took, in milliseconds. */
    async ask(duration) {
      const taken = [];
      const end = performance.now() + duration;
      const asked = [];
      while (performance.now() < end) {
        asked.push(timed({ port, agent, path: '/plain' }).then((time) => taken.push(time)));
        await new Promise((resolve) => setTimeout(resolve, INTERVAL));
      }
      await Promise.all(asked);
      return taken.sort((a, b) => a - b);
    },
    async stop() {
      child.send('stop');
      await exited;
      agent.destroy();
    },
  };
}

async function timed(request) {
  const start = performance.now();
  const [response] = await once(get({ host: '127.0.0.1', ...request }), 'response');
  response.resume();
  await once(response, 'end');
  return performance.now() - start;
}
