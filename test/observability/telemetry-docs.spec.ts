import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Prints what Prometheus scrapes from an application that has caused every metric. */
const APPLICATION = `
  import './telemetry.mjs';
  import 'reflect-metadata';
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { PGlite } from '@electric-sql/pglite';
  import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
  import { startTestReceiver } from 'nestjs-analytics/testing';
  const receiver = await startTestReceiver();
  const analytics = AnalyticsModule.forRoot({
    writeKey: 'wk',
    webhooks: { urls: [receiver.url], allowPrivateNetwork: true },
    connection: { embedded: { dataDir: 'memory://' } },
    outbox: { connection: await PGlite.create(), migrate: true },
    beforeSend: (message) => {
      if (message.event === 'Refused') throw new Error('Refused.');
      return message;
    },
  });
  class Application {}
  Module({ imports: [analytics] })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  const service = app.get(AnalyticsService);
  service.track({ userId: 'u1', event: 'Refused' });
  service.track({ userId: 'u1', event: 'Delivered' });
  await service.flush();
  await receiver.waitFor(1, { timeout: 20_000 });
  service.track({ userId: 'u1', event: 'Kept' });
  const scrape = async () =>
    (await fetch('http://127.0.0.1:' + process.env.METRICS_PORT + '/metrics')).text();
  let text = '';
  while (!text.includes('latency_count')) text = await scrape();
  console.log(text);
  process.exit(0);`;

/** Prints the path of each undici request of an application, and whether the page's snippet calls it a delivery. */
const REQUESTS = `
  import { subscribe } from 'node:diagnostics_channel';
  import 'reflect-metadata';
  import { NestFactory } from '@nestjs/core';
  import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
  import { startTestReceiver } from 'nestjs-analytics/testing';
  import { isDelivery } from './deliveries.mjs';
  const requests = [];
  // As the instrumentation does, which hands each to its hook.
  subscribe('undici:request:create', ({ request }) => requests.push([request.path, isDelivery(request)]));
  const receiver = await startTestReceiver();
  const app = await NestFactory.createApplicationContext(
    AnalyticsModule.forRoot({
      writeKey: 'wk',
      webhooks: { urls: [receiver.url + 'webhook'], headers: { 'x-ours': 'yes' }, allowPrivateNetwork: true },
      connection: { embedded: { dataDir: 'memory://' } },
    }),
    { logger: false },
  );
  await fetch(receiver.url + 'fetch', { method: 'POST', headers: { 'x-ours': 'yes' }, body: '{}' });
  app.get(AnalyticsService).track({ userId: 'u1', event: 'Order Completed' });
  await app.get(AnalyticsService).flush();
  await receiver.waitFor(2, { timeout: 20_000 });
  console.log(JSON.stringify(requests));
  process.exit(0);`;

/** A series of a query: its name, and the label that selects it. */
const SERIES = /(nestjs_analytics_\w+)(?:\{(\w+)!?=)?/g;
/** Labels that Prometheus and histograms add to the attributes of a metric. */
const ADDED = ['le', 'instance'];

interface Panel {
  title: string;
  targets: { expr: string; legendFormat: string }[];
}

/** Returns the names of the series in a scrape, with the names of their labels. */
function seriesIn(scrape: string): Map<string, string[]> {
  const lines = scrape.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      /^\w+/.exec(line)?.[0] ?? '',
      Array.from(line.matchAll(/(\w+)="/g), ([, label = '']) => label),
    ]),
  );
}

describe('The page on metrics and traces', () => {
  /** A folder inside the package, so that its snippets find the package and its dependencies by name. */
  let folder: string;
  let scrape: string;

  /** Writes a snippet of the page as a module. */
  async function writeSnippet(name: string, file: string): Promise<void> {
    const page = await readFile(join(ROOT, 'docs', 'metrics-and-traces.md'), 'utf8');
    const { code } = transformSync(readmeSnippet(page, name), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    });
    await writeFile(join(folder, file), code);
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'telemetry-docs-'));
    await writeSnippet('prometheus', 'telemetry.mjs');
    await writeFile(join(folder, 'application.mjs'), APPLICATION);
    const env = { ...process.env, METRICS_PORT: String(await freePort()) };
    const { stdout } = await run(process.execPath, [join(folder, 'application.mjs')], { cwd: folder, env });
    scrape = stdout;
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('shows a Prometheus exporter that can be scraped', () => {
    expect(scrape).toMatch(/^nestjs_analytics_messages_taken_total\{.*source="default".*\} 2$/m);
    expect(scrape).toMatch(/^nestjs_analytics_buffer_messages\{.*\} 1$/m);
  });

  it('has a Grafana dashboard that shows every metric that can be scraped, and no others', async () => {
    const file = await readFile(join(ROOT, 'docs', 'public', 'grafana-dashboard.json'), 'utf8');
    const { panels } = JSON.parse(file) as { panels: Panel[] };
    const scraped = seriesIn(scrape);
    const asked = new Set<string>();
    for (const { expr, legendFormat } of panels.flatMap(({ targets }) => targets)) {
      const grouped = Array.from(expr.matchAll(/ by \((.*?)\)/g), ([, labels = '']) => labels.split(', '));
      const shown = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label);
      for (const [, name = '', selected] of expr.matchAll(SERIES)) {
        asked.add(name.replace('_bucket', ''));
        const labels = [...grouped.flat(), ...shown, ...(selected === undefined ? [] : [selected])];
        expect(scraped.get(name) ?? [`no ${name}`]).toEqual(
          expect.arrayContaining(labels.filter((label) => !ADDED.includes(label))),
        );
      }
    }
    const all = [...scraped.keys()].filter((name) =>
      /^nestjs_analytics_.*(?<!_(sum|count|bucket))$/.test(name),
    );
    expect(all.filter((name) => !asked.has(name))).toEqual([]);
  });

  it('shows how an instrumentation can tell deliveries from other requests of undici', async () => {
    await writeSnippet('ignored requests', 'deliveries.mjs');
    await writeFile(join(folder, 'requests.mjs'), REQUESTS);
    const { stdout } = await run(process.execPath, [join(folder, 'requests.mjs')], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([
      ['/fetch', false],
      ['/webhook', true],
    ]);
  });
});
