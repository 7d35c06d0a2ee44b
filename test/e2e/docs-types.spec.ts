import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Matches a block of TypeScript, and the marker before it if there is one. */
const SNIPPET = /(?:<!-- test: (.+) -->\n\n)?```ts\n([^]*?)```/g;
/** Declarations of the names that snippets use without declaring them. */
const PRELUDE = `import type { IncomingHttpHeaders } from 'node:http';
declare global {
  const rawBody: Buffer;
  const request: { headers: IncomingHttpHeaders };
  const secret: string;
  const yesterday: Date;
  const config: { getOrThrow(name: string): string };
  const deliveries: import('nestjs-analytics').DeliveriesService;
  const analytics: import('nestjs-analytics').AnalyticsService;
  const destinations: import('nestjs-analytics').DestinationsService;
  const dataSource: import('typeorm').DataSource;
  const client: import('pg').Client;
  const knex: import('knex').Knex;
  const em: import('@mikro-orm/postgresql').EntityManager;
  const prisma: { $transaction(work: (tx: PrismaTransaction) => Promise<void>): Promise<void> };
  const order: Order;
  const userId: string;
  const id: string;
  const messageId: string;
  const metrics: { count(name: string, tags: object): void };
  function mail(to: string, text: string): void;
  class Config { webhookSecret: string }
  class ConfigService { get(name: string): string | undefined; getOrThrow(name: string): string }
  class AppModule {}
  class OrdersService { create(order: CreateOrder): Promise<Order> }
  interface Order { id: string }
  interface CreateOrder { coupon?: string }
  interface Login { userId: string }
  interface PrismaTransaction {
    order: { create(query: { data: { id: string } }): Promise<Order> };
    $executeRawUnsafe(text: string, ...values: unknown[]): Promise<number>;
  }
}
declare module 'nestjs-analytics' {
  interface AnalyticsRequest { user?: { id: string } }
}`;
const IMPORTS = `import { Body, Controller, Injectable, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Analytics } from '@segment/analytics-node';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { sql } from 'drizzle-orm';
import { AnalyticsModule, type AnalyticsModuleOptions, AnalyticsService, fromDrizzle, fromKnex, fromKysely, fromMikroOrm, fromPrisma, fromTypeOrm, InjectAnalytics, type TestResult, Track } from 'nestjs-analytics';
`;
/** Declarations of names that mean something else in other snippets, by the marker of the snippet. */
const DECLARATIONS: Record<string, string> = {
  drizzle: `declare const db: import('drizzle-orm/node-postgres').NodePgDatabase;`,
  kysely: `declare const db: import('kysely').Kysely<{ orders: { id: string } }>;`,
};

interface Snippet {
  page: string;
  name: string;
  code: string;
}

/** Completes a partial snippet, so that it can be compiled. */
function complete({ name, code }: Snippet): string {
  if (code.startsWith('import ')) return code;
  const head = IMPORTS + (DECLARATIONS[name] ?? '');
  if (/^(webhooks|sources): /.test(code)) {
    return `${head}const options: Partial<AnalyticsModuleOptions> = { ${code.trim().replace(/;$/, '')} };`;
  }
  if (code.startsWith('[')) return `${head}const results: TestResult[] = ${code}`;
  if (code.startsWith('@Post()'))
    return `${head}class Orders { constructor(private readonly orders: OrdersService) {}\n${code} }`;
  return head + code;
}

/**
 * Returns whether a snippet is compiled elsewhere. That holds for the page on testing, for snippets that import another
 * snippet, and for declared events: they apply to a whole program, and other snippets name other events.
 */
function isElsewhere({ page, code }: Snippet): boolean {
  return page === 'testing.md' || code.includes("from './") || code.startsWith('declare module');
}

async function snippets(): Promise<Snippet[]> {
  const names = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'));
  const pages = [['README.md', 'README.md'], ...names.map((name) => [name, `docs/${name}`])] as const;
  const all = await Promise.all(
    pages.map(async ([page, path]) => {
      const text = await readFile(join(ROOT, path), 'utf8');
      return Array.from(text.matchAll(SNIPPET), ([, name = '', code = '']) => ({ page, name, code }));
    }),
  );
  return all.flat().filter((snippet) => !isElsewhere(snippet));
}

describe('The README and the pages of the documentation', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'docs-types-'));
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('show TypeScript that compiles', async () => {
    const all = await snippets();
    expect(all.length).toBeGreaterThan(40);
    await writeFile(join(folder, 'prelude.d.ts'), PRELUDE);
    await Promise.all(
      all.map((snippet, index) =>
        writeFile(join(folder, `${snippet.page.replace('.md', '')}-${index}.ts`), complete(snippet)),
      ),
    );
    const compilerOptions = {
      module: 'NodeNext',
      target: 'ES2022',
      strict: true,
      // The strictest options that applications compile with.
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
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
  }, 180_000);
});
