import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A block of TypeScript that no marker names; those that have one are run. */
const SNIPPET = /(?<!-->\n\n)```ts\n([^]*?)```/g;
/** What the snippets take for granted. */
const PRELUDE = `import type { IncomingHttpHeaders } from 'node:http';
declare global {
  const rawBody: Buffer;
  const request: { headers: IncomingHttpHeaders };
  const secret: string;
  const yesterday: Date;
  const config: { getOrThrow(name: string): string };
  const deliveries: import('nestjs-analytics').DeliveriesService;
  const analytics: import('nestjs-analytics').AnalyticsService;
  const metrics: { count(name: string, tags: object): void };
  function mail(to: string, text: string): void;
  class Config { webhookSecret: string }
  class OrdersService { create(order: CreateOrder): Promise<Order> }
  const AnalyticsBrowser: { load(settings: object, options: object): void };
  interface Order { id: string }
  interface CreateOrder { coupon?: string }
  interface Login { userId: string }
}
declare module 'nestjs-analytics' {
  interface AnalyticsRequest { user?: { id: string } }
}`;
const IMPORTS = `import { Body, Controller, Injectable, Post } from '@nestjs/common';
import { Analytics } from '@segment/analytics-node';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { z } from 'zod';
import { AnalyticsModule, type AnalyticsModuleOptions, AnalyticsService, InjectAnalytics, type TestResult, Track } from 'nestjs-analytics';
`;

/** Completes a snippet that is a part of something to what can be compiled. */
function complete(snippet: string): string {
  if (snippet.startsWith('import ')) return snippet;
  if (/^(webhooks|sources): /.test(snippet)) {
    return `${IMPORTS}const options: AnalyticsModuleOptions = { ${snippet.trim().replace(/;$/, '')} };`;
  }
  if (snippet.startsWith('[')) return `${IMPORTS}const results: TestResult[] = ${snippet}`;
  if (snippet.startsWith('AnalyticsModule'))
    return `${IMPORTS}${snippet.replace('identity:', "writeKey: 'wk', identity:").replace('events:', "writeKey: 'wk', events:")}`;
  return IMPORTS + snippet;
}

describe('The README', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'readme-types-'));
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('shows TypeScript that compiles', async () => {
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    // Declared events hold for a whole program, and the others name other events: they have a test of their own.
    const snippets = [...readme.matchAll(SNIPPET)]
      .map(([, code = '']) => code)
      .filter((code) => !code.startsWith('declare module'));
    expect(snippets.length).toBeGreaterThan(10);
    await writeFile(join(folder, 'prelude.d.ts'), PRELUDE);
    await Promise.all(
      snippets.map((code, index) => writeFile(join(folder, `snippet-${index}.ts`), complete(code))),
    );
    const compilerOptions = {
      module: 'NodeNext',
      target: 'ES2022',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      types: ['node'],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const complaints = await new Promise<string>((resolve) => {
      execFile(process.execPath, [tsc, '-p', folder], (_error, stdout) => {
        resolve(stdout);
      });
    });
    expect(complaints).toBe('');
  });
});
