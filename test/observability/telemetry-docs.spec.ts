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

/** Prints the names of the metrics that Prometheus scrapes from an application. */
const APPLICATION = `
  import './telemetry.mjs';
  import 'reflect-metadata';
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
  const analytics = AnalyticsModule.forRoot({
    writeKey: 'wk',
    webhooks: { urls: ['https://hooks.example.com/'] },
    connection: { embedded: { dataDir: 'memory://' } },
  });
  class Application {}
  Module({ imports: [analytics] })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  app.get(AnalyticsService).track({ userId: 'u1', event: 'Paid' });
  const response = await fetch('http://127.0.0.1:' + process.env.METRICS_PORT + '/metrics');
  console.log(await response.text());
  await app.close();
  process.exit(0);`;

describe('The page on metrics and traces', () => {
  /** Inside the package, so that its snippets find it and its dependencies by their names. */
  let folder: string;
  let page: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'telemetry-docs-'));
    page = await readFile(join(ROOT, 'docs', 'metrics-and-traces.md'), 'utf8');
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('shows a Prometheus exporter, which can be scraped', async () => {
    const { code } = transformSync(readmeSnippet(page, 'prometheus'), {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    });
    await writeFile(join(folder, 'telemetry.mjs'), code);
    await writeFile(join(folder, 'application.mjs'), APPLICATION);
    const env = { ...process.env, METRICS_PORT: String(await freePort()) };
    const { stdout } = await run(process.execPath, [join(folder, 'application.mjs')], { cwd: folder, env });
    expect(stdout).toMatch(/^nestjs_analytics_messages_taken_total\{.*source="default".*\} 1$/m);
    expect(stdout).toMatch(/^nestjs_analytics_buffer_messages\{.*\} 1$/m);
  }, 60_000);
});
