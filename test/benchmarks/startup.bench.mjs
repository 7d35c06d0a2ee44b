import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getQueueToken } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import { ANALYTICS_QUEUE } from 'nestjs-analytics';
import { appModule } from './support/app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { importCosts } from './support/import-cost.mjs';
import { openQueue, REDIS } from './support/queue.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * The time from `NestFactory.create` to an application that listens and whose queue answers, workers included. Each
 * boot has a process of its own, which has already loaded Nest's core and the module. The cost of loading the module is
 * measured separately, on top of Nest's core and BullMQ.
 */
const RUNS = 5;
const IMPORT_RUNS = 9;
const POSTGRES = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test';
const FIRST_BOOT = 'embedded, first boot';

async function boot(connection) {
  const begin = performance.now();
  const app = await NestFactory.create(appModule({ connection }), { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  const listening = performance.now() - begin;
  await app.get(getQueueToken(ANALYTICS_QUEUE)).getJobCounts('waiting');
  const ready = performance.now() - begin;
  // `maxRSS` is in kilobytes.
  const memory = process.resourceUsage().maxRSS / 1024;
  await app.close();
  return { listening, ready, memory };
}

/** Boots the applications in turn, so that a busy moment of the machine affects all of them. */
async function round() {
  const dataDir = await mkdtemp(join(tmpdir(), 'nestjs-analytics-startup-'));
  const embedded = { embedded: { dataDir } };
  const boots = [
    ['Redis', REDIS],
    ['PostgreSQL', POSTGRES],
    [FIRST_BOOT, embedded],
    ['embedded, later boot', embedded],
  ];
  const results = [];
  try {
    for (const [name, connection] of boots) {
      results.push({ name, ...(await inChild(import.meta.url, { connection })) });
    }
  } finally {
    await rm(dataDir, { recursive: true });
  }
  return results;
}

async function bench() {
  // The first round does not count: it reads files from the disk, and creates the schema in a new PostgreSQL.
  await round();
  const rounds = [];
  for (let run = 0; run < RUNS; run++) rounds.push(await round());
  const rows = rounds[0].map(({ name }, index) => {
    const of = (key) => rounds.map((results) => results[index][key]);
    return { name, listening: of('listening'), ready: of('ready'), memory: of('memory') };
  });
  report(
    'Boot of an application',
    rows.map(({ name, listening, ready, memory }) => ({
      queue: name,
      'HTTP server listens, ms': show(listening, 0),
      'queue answers, ms': show(ready, 0),
      'most resident memory, MB': show(memory, 0),
    })),
  );
  // BullMQ keeps a key for every queue.
  const queue = openQueue();
  await queue.clear();
  await queue.close();
  const imports = importCosts(IMPORT_RUNS);
  report(
    'Loading the package, milliseconds of CPU of a process',
    imports.map(({ name, base, whole, ratio }) => ({
      format: name,
      '@nestjs/core and bullmq': show(base, 0),
      'with nestjs-analytics': show(whole, 0),
      ratio: show(ratio),
    })),
  );
  const first = rows.find(({ name }) => name === FIRST_BOOT);
  reportTargets([
    target(`${FIRST_BOOT}, ms`, first.ready, { most: 2_000 }, 0),
    target(`${FIRST_BOOT}, MB`, first.memory, { most: 450 }, 0),
    ...imports.map(({ name, ratio }) => target(`loading ${name}, ratio`, ratio, { most: 1.2 })),
  ]);
}

if (task === undefined) await bench();
else tell(await boot(task.connection));
