import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { getQueueToken } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ANALYTICS_QUEUE, AnalyticsModule, AudiencesService } from 'nestjs-analytics';
import { report } from './support/report.mjs';

/**
 * Syncs an audience on Redis that nobody delivers from: all members at first, then one in a hundred
 * replaced, then none. Each size runs in a process of its own, with a small heap, whose peak memory is told.
 */
const SIZES = [100_000, 1_000_000];
const CHURN = 0.01;
const MAX_HEAP = '--max-old-space-size=64';
const NAME = 'Benchmark';
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15';

function* userIds(from, to) {
  for (let n = from; n < to; n++) yield `user-${String(n).padStart(9, '0')}`;
}

async function timed(work) {
  const start = performance.now();
  const result = await work();
  return {
    result,
    seconds: (performance.now() - start) / 1000,
    megabytes: process.resourceUsage().maxRSS / 1024,
  };
}

async function measure(size) {
  class App {}
  Module({
    imports: [
      AnalyticsModule.forRoot({
        writeKey: 'bench',
        connection: REDIS_URL,
        webhooks: { urls: ['https://hooks.example.com/'] },
        worker: false,
      }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  const audiences = app.get(AudiencesService);
  const queue = app.get(getQueueToken(ANALYTICS_QUEUE));
  await audiences.delete(NAME, { notify: false });
  const replaced = size * CHURN;
  const first = await timed(() => audiences.sync(NAME, userIds(0, size)));
  const churn = await timed(() => audiences.sync(NAME, userIds(replaced, size + replaced)));
  const unchanged = await timed(() => audiences.sync(NAME, userIds(replaced, size + replaced)));
  await audiences.delete(NAME, { notify: false });
  // The queue's connection alone does not keep a process alive.
  const keepAlive = setInterval(() => undefined, 60_000);
  await queue.obliterate({ force: true });
  clearInterval(keepAlive);
  await app.close();
  return [
    row(size, 'first sync', size, first),
    row(size, '1 % churn', size, churn),
    row(size, 'no change', size, unchanged),
  ];
}

function row(size, sync, members, { result, seconds, megabytes }) {
  return {
    members: size,
    sync,
    added: result.added,
    removed: result.removed,
    'members/s': Math.round(members / seconds),
    seconds: seconds.toFixed(1),
    'peak MB': Math.round(megabytes),
  };
}

const child = process.argv.find((argument) => argument.startsWith('--members='));
if (child === undefined) {
  const rows = SIZES.flatMap((size) => {
    const args = [...process.execArgv, MAX_HEAP, fileURLToPath(import.meta.url), `--members=${size}`];
    const { stdout, status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (status !== 0) process.exit(1);
    return JSON.parse(String(stdout).trim().split('\n').at(-1));
  });
  report('Sync of an audience, on Redis, workers off', rows);
} else {
  process.stdout.write(`${JSON.stringify(await measure(Number(child.split('=')[1])))}\n`);
}
