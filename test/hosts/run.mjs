/**
 * Proves that the package works in applications of several kinds, each of which installs the tarball as the README
 * says: `npm run test:hosts` for all, with `--quick` for the two most usual ones, with names for some of them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HOSTS } from './hosts.mjs';
import { Host, packPackage } from './support/host.mjs';
import { RedisServer } from './support/redis-server.mjs';
import { Tools } from './support/tools.mjs';

/** Applications to prove at once. Much of the time goes to the registry and to the start of processes. */
const AT_ONCE = 2;

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean' } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !HOSTS.some((host) => host.name === name));
if (unknown.length > 0) throw new Error(`There is no host ${unknown.join(', ')}`);
const chosen = HOSTS.filter(
  ({ name, isQuick }) =>
    (!values.quick || isQuick) && (positionals.length === 0 || positionals.includes(name)),
);

const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
const redis = chosen.some(({ queue }) => queue === 'redis') ? await RedisServer.start(folder) : undefined;
const tools = values.quick ? undefined : new Tools(folder);
let failures = 0;

async function prove(definition, tarball) {
  const begin = performance.now();
  let current = '';
  const seconds = () => `${Math.round((performance.now() - begin) / 1000)} s`;
  try {
    await new Host(definition, { tarball, redisUrl: redis?.url, tools }).prove((step) => {
      current = step;
    });
    console.log(`ok      ${definition.name}: ${definition.title} (${seconds()})`);
  } catch (error) {
    failures++;
    console.log(
      `FAILED  ${definition.name}: ${definition.title}, at "${current}" (${seconds()})\n${error.stack}`,
    );
  }
}

try {
  const tarball = await packPackage(folder);
  const waiting = [...chosen];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await prove(next, tarball);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
} finally {
  await redis?.stop();
  await rm(folder, { recursive: true, force: true });
}
console.log(`\nHosts: ${chosen.length - failures} passed, ${failures} failed`);
if (failures > 0) process.exitCode = 1;
