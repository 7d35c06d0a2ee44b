import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('host-server.mjs', import.meta.url));

/** Milliseconds between two requests, which are too few to be a load. */
const INTERVAL = 10;

/**
 * Starts a user's application in a process of its own, to measure it from outside.
 *
 * @param options the module's options; `undefined` for an application without the module
 * @param rate events that it tracks a second
 */
export async function startHost({ options, rate }) {
  const child = fork(SERVER, [JSON.stringify({ options, rate })]);
  const exited = once(child, 'exit');
  const [port] = await Promise.race([once(child, 'message'), exited]);
  if (child.exitCode !== null) throw new Error(`A host ended with ${child.exitCode} before it was ready`);
  const agent = new Agent({ keepAlive: true });
  return {
    /** Requests the plain handler now and then. Resolves to the milliseconds of each request, the shortest first. */
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
