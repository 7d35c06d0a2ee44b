import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { UNOPTIMIZED } from '../support/child-process.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The part of an application that the page's code uses. */
const WAREHOUSE = `
import { Injectable, Module } from '@nestjs/common';

interface Row { messageId: string; type: string }

@Injectable()
export class Warehouse {
  readonly rows: string[] = [];
  reconnections = 0;
  private isAway = true;

  async reconnect(): Promise<void> {
    this.reconnections++;
  }

  async insert(rows: Row[], { signal }: { signal: AbortSignal }): Promise<{ messageId: string; reason: string }[]> {
    signal.throwIfAborted();
    if (this.isAway) {
      this.isAway = false;
      throw new Error('away');
    }
    this.rows.push(...rows.filter(({ type }) => type === 'track').map(({ messageId }) => messageId));
    return rows.filter(({ type }) => type !== 'track').map(({ messageId }) => ({ messageId, reason: 'no table' }));
  }
}

@Module({ providers: [Warehouse], exports: [Warehouse] })
export class WarehouseModule {}
`;

const STORY = `
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AnalyticsService, DeliveriesService } from 'nestjs-analytics';
import { filter, firstValueFrom } from 'rxjs';
import { AppModule } from './app.module.js';
import { WarehouseDestination } from './warehouse.destination.js';
import { Warehouse } from './warehouse.js';

// The page's own window is 4 hours, so that its second attempt comes after seconds.
const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const deliveries = app.get(DeliveriesService);
const ended = (messageId: string) =>
  firstValueFrom(
    deliveries.outcomes$.pipe(
      filter((one) => one.destination === 'warehouse' && one.messageId === messageId && one.class !== 'retry'),
    ),
  );
const all = Promise.all([ended('m1'), ended('m2')]);
const analytics = app.get(AnalyticsService);
analytics.track({ userId: 'u1', event: 'Order Completed', messageId: 'm1' });
analytics.page({ userId: 'u1', messageId: 'm2' });
await analytics.flush();
const outcomes = (await all).map((one) => one.outcomes.map(({ class: end, error }) => [end, error]));
const { rows, reconnections } = app.get(Warehouse);
const kept = (await deliveries.failed({ destination: 'warehouse' })).map(({ messageId }) => messageId);
await app.close();
console.log(JSON.stringify({ rows, reconnections, outcomes, kept, name: WarehouseDestination.name }));
`;

describe('The page on custom destinations', () => {
  /** Lies inside the package, so that the snippets can import the package and its dependencies by name. */
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'page-'));
    const page = await readFile(join(ROOT, 'docs/custom-destinations.md'), 'utf8');
    const files = {
      'warehouse.js': WAREHOUSE,
      'warehouse.destination.js': readmeSnippet(page, 'destination'),
      'app.module.js': readmeSnippet(page, 'module'),
      'main.js': STORY,
    };
    for (const [name, code] of Object.entries(files)) {
      const compiled = transformSync(code, {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
        },
      });
      await writeFile(join(folder, name), compiled.code);
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('leads to an application that delivers its events to a warehouse, and retries if it was away', async () => {
    const { stdout } = await run(process.execPath, [UNOPTIMIZED, join(folder, 'main.js')], {
      cwd: folder,
      timeout: 110_000,
      env: { ...process.env, NODE_ENV: 'test' },
    });
    const lines = stdout.trim().split('\n');
    expect(JSON.parse(lines.pop() ?? '')).toEqual({
      rows: ['m1'],
      reconnections: 1,
      outcomes: [[['delivered', null]], [['permanent', 'PERMANENT_DELIVERY']]],
      kept: ['m2'],
      name: 'WarehouseDestination',
    });
    const printed = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(printed.sort()).toEqual(['page', 'track']);
  });
});
