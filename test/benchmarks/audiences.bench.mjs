import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { getQueueToken } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ANALYTICS_QUEUE, AnalyticsModule, AudiencesService } from 'nestjs-analytics';
import { startIdleProcess } from './support/idle-process.mjs';
import { report } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * Syncs an audience whose messages stay in the queue: first all members, then with one in a hundred replaced, then
 * without a change. At the end, it lists the members. Each case runs in a process of its own. Reports the peak memory,
 * and the longest time in which no timer could fire: every handler of the application waits for as long.
 *
 * A generator has to get by with a small heap. An array of all users does not fit into a small heap: garbage collection
 * would stop the process for up to 60 ms to stay below the limit.
 */
const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15';
const POSTGRES = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test';
const MILLION = 1_000_000;
const CASES = {
  'Redis, 100,000 from a generator': { connection: REDIS, size: 100_000, heap: 64 },
  'Redis, from a generator': { connection: REDIS, size: MILLION, heap: 64 },
  'Redis, from an array': { connection: REDIS, size: MILLION, isArray: true },
  'PostgreSQL, from an array': { connection: POSTGRES, size: MILLION, isArray: true },
  'embedded, from an array': {
    connection: { embedded: { dataDir: 'memory://' } },
    size: MILLION,
    isArray: true,
  },
};
const CHURN = 0.01;
const NAME = 'Benchmark';
const LONGEST_STALL = 50;
const RESOLUTION = 1;

function* userIds(from, to) {
  for (let n = from; n < to; n++) yield `user-${String(n).padStart(9, '0')}`;
}

/** Returns each id in one piece, as a database driver does: the pieces of a template are collected one by one. */
const listOf = (ids) => JSON.parse(JSON.stringify([...ids]));

/** Runs before the measured work, so that the collector does not mark the benchmark's own objects in it. */
const collectGarbage = () => gc();

async function measured(idle, work) {
  collectGarbage();
  await idle.start();
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  const start = performance.now();
  delays.enable();
  const result = await work();
  delays.disable();
  return {
    result,
    seconds: (performance.now() - start) / 1000,
    megabytes: process.resourceUsage().maxRSS / 1024,
    stall: delays.max / 1e6 - RESOLUTION,
    ofMachine: await idle.longestStall(),
  };
}

async function countMembers(audiences) {
  let count = 0;
  for await (const userId of audiences.members(NAME)) count += userId.length > 0 ? 1 : 0;
  return count;
}

async function measure({ connection, size, isArray }) {
  class App {}
  // Nothing is delivered: nobody listens there, and Redis and PostgreSQL have no worker. An embedded queue needs this
  // process as its worker, since no other could deliver from it.
  const webhooks = { urls: ['http://127.0.0.1:9/'], allowPrivateNetwork: true, backlogLimit: 10 * MILLION };
  const worker = typeof connection !== 'string';
  Module({ imports: [AnalyticsModule.forRoot({ writeKey: 'bench', connection, webhooks, worker })] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  const audiences = app.get(AudiencesService);
  const queue = app.get(getQueueToken(ANALYTICS_QUEUE));
  // The queue's connection alone does not keep a process alive.
  const keepAlive = setInterval(() => undefined, 60_000);
  await audiences.delete(NAME, { notify: false });
  const replaced = size * CHURN;
  const idle = startIdleProcess();
  const users = (from, to) => (isArray ? listOf(userIds(from, to)) : userIds(from, to));
  // Holds one list at a time, as an application does.
  let members = users(0, size);
  const first = await measured(idle, () => audiences.sync(NAME, members));
  members = users(replaced, size + replaced);
  const churn = await measured(idle, () => audiences.sync(NAME, members));
  if (!isArray) members = users(replaced, size + replaced);
  const unchanged = await measured(idle, () => audiences.sync(NAME, members));
  const listed = await measured(idle, () => countMembers(audiences));
  await audiences.delete(NAME, { notify: false });
  await queue.obliterate({ force: true });
  clearInterval(keepAlive);
  idle.stop();
  await app.close();
  return { 'first sync': first, '1 % churn': churn, 'no change': unchanged, members: listed };
}

function rows(name, size, runs) {
  return Object.entries(runs).map(([sync, { result, seconds, megabytes, stall, ofMachine }]) => ({
    case: name,
    sync,
    added: result.added ?? '',
    removed: result.removed ?? '',
    'users/s': Math.round(size / seconds),
    seconds: seconds.toFixed(1),
    'peak MB': Math.round(megabytes),
    'longest stall, ms': stall.toFixed(1),
    'of an idle process': ofMachine.toFixed(1),
  }));
}

function run(name, { heap }) {
  const flags = ['--expose-gc', ...process.execArgv];
  if (heap !== undefined) flags.push(`--max-old-space-size=${heap}`);
  const args = [...flags, fileURLToPath(import.meta.url), `--case=${name}`];
  const { stdout, status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (status !== 0) process.exit(1);
  return JSON.parse(String(stdout).trim().split('\n').at(-1));
}

const given = process.argv.find((argument) => argument.startsWith('--case='))?.slice('--case='.length);
if (given === undefined) {
  const wanted = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);
  const cases = Object.entries(CASES).filter(([name]) => wanted === undefined || name.startsWith(wanted));
  const results = cases.map(([name, one]) => [name, run(name, one)]);
  report(
    'Sync of an audience of 1,000,000, workers off',
    results.flatMap(([name, runs]) => rows(name, CASES[name].size, runs)),
  );
  reportTargets(
    results.map(([name, runs]) => {
      const longest = Math.max(...Object.values(runs).map(({ stall }) => stall));
      return target(`longest stall, ms: ${name}`, [longest], { most: LONGEST_STALL }, 1);
    }),
  );
} else {
  process.stdout.write(`${JSON.stringify(await measure(CASES[given]))}\n`);
}
