import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { UNOPTIMIZED } from '../support/child-process.js';
import { describeRedis } from '../support/describe-backend.js';
import { freePort } from '../support/free-port.js';
import { quickConnections } from '../support/quick-connections.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Runs one module after another, and reports the output of each, or the reason for its failure. */
const HOST = `
let printed = '';
let last = Promise.resolve();
process.stdout.write = (text) => { printed += text; return true; };
async function evaluate(file) {
  printed = '';
  const failure = await import(file).then(() => undefined, ({ stack }) => stack);
  process.send({ file, printed, failure });
}
process.on('message', (file) => { last = last.then(() => evaluate(file)); });`;

interface Evaluated {
  file: string;
  printed: string;
  failure?: string;
}

/** Applies a diff: an added line follows the line before it, or replaces that line if it is removed. */
function changed(code: string, diff: string): string {
  let [before, isRemoved] = ['', false];
  let result = code;
  for (const line of diff.split('\n')) {
    const text = line.slice(1);
    if (line.startsWith('+')) result = result.replace(before, isRemoved ? text : `${before}\n${text}`);
    [before, isRemoved] = [text, line.startsWith('-')];
  }
  return result;
}

describe('The documentation', () => {
  /** Lies inside the package, so that the snippets can import the package and its dependencies by name. */
  let folder: string;
  /** The process that evaluates all snippets that need no process of their own. */
  let host: ChildProcess;
  let hostEnded: Promise<unknown>;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'docs-'));
    await writeFile(join(folder, 'host.mjs'), HOST);
    host = fork(join(folder, 'host.mjs'), { cwd: folder, execArgv: [UNOPTIMIZED] });
    hostEnded = once(host, 'exit');
  });

  afterAll(async () => {
    host.kill();
    await hostEnded;
    await rm(folder, { recursive: true });
  });

  const snippet = async (page: string, name: string): Promise<string> =>
    readmeSnippet(await readFile(join(ROOT, page), 'utf8'), name);

  /** Compiles a TypeScript module for Node, writes it to the folder, and resolves to its path. */
  async function compiled(file: string, source: string): Promise<string> {
    const { code } = transformSync(source, {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2022',
      },
    });
    const path = join(folder, file);
    await writeFile(path, code);
    return path;
  }

  /** Runs a module as a program, and resolves to what it prints. */
  async function execute(file: string, source: string): Promise<string> {
    const path = await compiled(file, source);
    const { stdout } = await run(process.execPath, [UNOPTIMIZED, path], { cwd: folder, timeout: 110_000 });
    return stdout;
  }

  /** Imports a module, and resolves to what it prints while it is evaluated. */
  async function evaluate(file: string, source: string): Promise<string> {
    const path = await compiled(file, source);
    const evaluated = new Promise<Evaluated>((resolve) => {
      host.on('message', (one: Evaluated) => {
        if (one.file === path) resolve(one);
      });
    });
    host.send(path);
    const { printed, failure } = await evaluated;
    if (failure !== undefined) throw new Error(failure);
    return printed;
  }

  it('begins with a file that prints an event that arrived and was verified', async () => {
    const stdout = await execute('first-event.mjs', await snippet('README.md', 'first event'));
    expect(stdout).toContain('verified: true');
    expect(stdout).toContain("event: 'Order Completed'");
  });

  it('shows a module and a service that accept an event', async () => {
    const stdout = await evaluate(
      'quick-start.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      ${await snippet('README.md', 'quick start')}
      ${await snippet('docs/getting-started.md', 'service')}
      @Module({ imports: [AppModule], providers: [OrdersService] })
      class Application {}
      const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
      app.get(OrdersService).complete('u1', 39.95);
      console.log(JSON.stringify(await app.get(AnalyticsService).flush()));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('shows a `main.ts` that flushes the buffer on SIGTERM', async () => {
    const main = (await snippet('README.md', 'main'))
      .replace('AppModule', 'Application')
      .replace('3000', '0');
    const running = execute(
      'main.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { AnalyticsService } from 'nestjs-analytics';
      ${await snippet('README.md', 'quick start')}
      @Module({ imports: [AppModule] })
      class Application {
        onApplicationShutdown() {
          console.log('in memory:', app.get(AnalyticsService).status().buffered.messages);
        }
      }
      ${main}
      // Its database may still be starting.
      app.get(AnalyticsService).track({ userId: 'u1', event: 'Signed In' });
      await app.get(AnalyticsService).flush();
      app.get(AnalyticsService).track({ userId: 'u1', event: 'Order Completed' });
      process.kill(process.pid, 'SIGTERM');`,
    );
    await expect(running).rejects.toMatchObject({
      signal: 'SIGTERM',
      stdout: expect.stringContaining('in memory: 0\n'),
    });
  });

  it('leads a new application to its first event, verified by its own receiver', async () => {
    const port = String(await freePort());
    const module = await snippet('docs/getting-started.md', 'shop.module.ts');
    const stdout = await execute(
      'shop.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      ${module.replace('3000', port)}
      const app = await NestFactory.create(ShopModule, { rawBody: true, logger: ['error'] });
      await app.listen(${port}, 'localhost');
      const received = new Promise((resolve) => { console.log = (...words) => resolve(words); });
      await fetch('http://localhost:${port}/orders', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"userId":"u1","total":9}',
      });
      process.stdout.write(JSON.stringify(await received));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual([
      'verified',
      expect.objectContaining({ event: 'Order Completed', userId: 'u1', properties: { total: 9 } }),
    ]);
  });

  it('leads a customer of that application to an event of their own', async () => {
    const port = String(await freePort());
    const page = 'docs/getting-started.md';
    const shop = changed(await snippet(page, 'shop.module.ts'), await snippet(page, 'tenants'));
    const stdout = await execute(
      'customer.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { startTestReceiver } from 'nestjs-analytics/testing';
      import { Headers } from '@nestjs/common';
      import { DestinationsService } from 'nestjs-analytics';
      ${(await snippet(page, 'webhooks.controller.ts')).replaceAll(/^import .*$/gm, '')}
      ${shop.replace('3000', port)}
      const app = await NestFactory.create(ShopModule, { rawBody: true, logger: ['error'] });
      await app.listen(${port}, 'localhost');
      const customer = await startTestReceiver();
      const post = (path, body) => fetch('http://localhost:${port}' + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tenant': 'acme' },
        body: JSON.stringify(body),
      });
      const { secret } = await (await post('/webhooks', { url: customer.url })).json();
      console.log = () => {};
      await post('/orders', { userId: 'u1', total: 9 });
      const [{ message }] = await customer.waitFor(1, { timeout: 100_000 });
      process.stdout.write(JSON.stringify({ secret, message }));
      await app.close();
      await customer.close();`,
    );
    expect(JSON.parse(stdout)).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      message: expect.objectContaining({ event: 'Order Completed', properties: { total: 9 } }),
    });
  });

  it('shows each call in a form that the client accepts', async () => {
    const stdout = await evaluate(
      'calls.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
      ${await snippet('docs/calls.md', 'calls')}
      const webhooks = { urls: ['https://hooks.example.com/'] };
      const analytics = AnalyticsModule.forRoot({ writeKey: 'wk', webhooks });
      const app = await NestFactory.createApplicationContext(analytics, { logger: ['error'] });
      everyCall(app.get(AnalyticsService));
      console.log(JSON.stringify(await app.get(AnalyticsService).flush()));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual({ queued: 7, refused: 0, pending: 0 });
  });

  it('shows schemas that keep an invalid event from being sent', async () => {
    const stdout = await evaluate(
      'events.mjs',
      `import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { AnalyticsService } from 'nestjs-analytics';
      ${(await snippet('docs/typed-events.md', 'events')).replace(
        "writeKey: 'wk_shop',",
        "writeKey: 'wk_shop', webhooks: { urls: ['https://hooks.example.com/'] },",
      )}
      const app = await NestFactory.createApplicationContext(analytics, { logger: ['error'] });
      const service = app.get(AnalyticsService);
      service.track({ userId: 'u1', event: 'Order Completed', properties: { orderId: 'o1', total: 9 } });
      service.track({ userId: 'u1', event: 'Order Completed', properties: { orderId: 'o1' } });
      console.log(JSON.stringify(await service.flush()));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual({ queued: 1, refused: 1, pending: 0 });
  });

  it('shows options that come from another provider', async () => {
    const stdout = await evaluate(
      'async.mjs',
      `import 'reflect-metadata';
      import { Global, Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
      const values = {
        ANALYTICS_WRITE_KEY: 'wk',
        WEBHOOK_URLS: 'https://hooks.example.com/a,https://hooks.example.com/b',
        WEBHOOK_SECRET: 'teehee',
      };
      class ConfigService { get(name) { return values[name]; } getOrThrow(name) { return values[name]; } }
      @Global() @Module({ providers: [ConfigService], exports: [ConfigService] }) class ConfigModule {}
      const analytics = ${await snippet('docs/options.md', 'async')}
      @Module({ imports: [ConfigModule, analytics] }) class Application {}
      const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
      console.log(app.get(AnalyticsService).track({ userId: 'u1', event: 'E' }));
      await app.close();`,
    );
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  });

  it('shows a health controller that answers 200 with details, and 503 without a worker', async () => {
    const stdout = await evaluate(
      'health.mjs',
      `import 'reflect-metadata';
      import { Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { TerminusModule } from '@nestjs/terminus';
      import { AnalyticsModule } from 'nestjs-analytics';
      import { DeliveryWorker } from '../esm/delivery/delivery-worker.js';
      ${await snippet('docs/health.md', 'health')}
      const analytics = AnalyticsModule.forRoot({
        writeKey: 'wk',
        webhooks: { urls: ['https://hooks.example.com/'] },
        connection: { embedded: { dataDir: 'memory://' } },
      });
      @Module({ imports: [analytics, TerminusModule], controllers: [HealthController] })
      class Application {}
      const app = await NestFactory.create(Application, { logger: false });
      await app.listen(0, '127.0.0.1');
      const check = async () => {
        const response = await fetch(await app.getUrl() + '/health');
        const { details } = await response.json();
        return { code: response.status, ...details.analytics };
      };
      // On a busy machine, the queue may need more time for its first answer.
      let up = await check();
      while (up.code !== 200) up = await check();
      await app.get(DeliveryWorker).pause();
      let stopped = await check();
      while (stopped.reasons?.some((reason) => reason.includes('did not answer'))) stopped = await check();
      console.log(JSON.stringify([up, stopped]));
      await app.close();`,
    );
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ code: 200, status: 'up', queue: 'up', worker: 'running', waiting: 0 }),
      expect.objectContaining({
        code: 503,
        status: 'down',
        reasons: ['The worker of this process has stopped.'],
      }),
    ]);
  });

  describeRedis('with Redis', () => {
    const newConnection = quickConnections();

    it('shows how to serve bull-board to staff only, without a way to change jobs', async () => {
      const connection = JSON.stringify(await newConnection());
      const stdout = await execute(
        'board.mjs',
        `import 'reflect-metadata';
        import { Module } from '@nestjs/common';
        import { NestFactory } from '@nestjs/core';
        import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
        import { startTestReceiver } from 'nestjs-analytics/testing';
        ${await snippet('docs/operating.md', 'bull-board')}
        const receiver = await startTestReceiver();
        receiver.answer(400);
        const analytics = AnalyticsModule.forRoot({
          writeKey: 'wk',
          webhooks: { urls: [receiver.url], allowPrivateNetwork: true },
          connection: ${connection},
        });
        @Module({ imports: [analytics] })
        class Application {}
        const app = await NestFactory.create(Application, { logger: ['error'] });
        serveBoard(app, (request, response, next) => {
          if (request.headers['x-staff'] === 'yes') next();
          else response.status(401).end();
        });
        await app.listen(0, '127.0.0.1');
        app.get(AnalyticsService).track({ userId: 'u1', event: 'Order Completed' });
        await app.get(AnalyticsService).flush();
        await receiver.waitFor(1, { timeout: 100_000 });
        const url = await app.getUrl();
        const ask = (path, init) => fetch(url + '/admin/queues' + path, init);
        const headers = { 'x-staff': 'yes' };
        let queue;
        while (queue?.counts.failed !== 1 || queue.jobs.length === 0) {
          const answer = await ask('/api/queues?activeQueue=analytics&status=failed&page=1', { headers });
          [queue] = (await answer.json()).queues;
        }
        const [job] = queue.jobs;
        const retry = await ask('/api/queues/analytics/' + job.id + '/retry', { method: 'PUT', headers });
        console.log(JSON.stringify({
          stranger: (await ask('/api/queues')).status,
          page: (await ask('/', { headers })).status,
          counts: queue.counts,
          data: JSON.stringify(job.data),
          retry: retry.status,
        }));
        await app.close();
        await receiver.close();`,
      );
      expect(JSON.parse(stdout)).toEqual({
        stranger: 401,
        page: 200,
        counts: expect.objectContaining({ failed: 1 }),
        data: expect.stringContaining('Order Completed'),
        retry: 405,
      });
    });
  });
});
