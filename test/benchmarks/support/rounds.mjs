import { OURS } from './clients.mjs';
import { inChild } from './child.mjs';
import { startCollector } from './collector.mjs';
import { openQueue, REDIS } from './queue.mjs';

/**
 * Measures clients in turn, round by round, so that a busy moment of the machine affects all of them. Each runs in a
 * process of its own. The peers post to this process.
 *
 * @param tasks by the name of the client; one with `runs` takes part in that many rounds only, since it takes long
 * @returns by the name of the client, what each of its runs reported, and how many messages arrived
 */
export async function measureInRounds(url, rounds, tasks) {
  const collector = await startCollector();
  const queue = openQueue();
  await queue.clear();
  const addresses = { redis: REDIS, url: collector.url };
  const results = Object.fromEntries(Object.keys(tasks).map((name) => [name, []]));
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [name, { runs = rounds, ...task }] of Object.entries(tasks)) {
        if (round >= runs) continue;
        const told = await inChild(url, { name, addresses, ...task });
        const arrived = await (name === OURS ? queue : collector).take();
        results[name].push({ ...told, ...arrived });
      }
    }
  } finally {
    collector.stop();
    await queue.clear();
    await queue.close();
  }
  return results;
}

/** Returns a figure of each run, relative to that of another client in the same round. */
export function ratios(results, against, figure) {
  return against.map((other, round) => figure(results[round]) / figure(other));
}
