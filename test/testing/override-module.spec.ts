import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  type DynamicModule,
  type INestApplication,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { existsSync } from 'node:fs';
import {
  AnalyticsModule,
  type AnalyticsModuleOptions,
  AnalyticsService,
  ConsoleService,
  DestinationsService,
  Track,
} from '../../src/index.js';
import { AnalyticsTestingModule, RecordedAnalytics } from '../../src/testing/index.js';
import { LogLines } from '../support/log-lines.js';

interface Order {
  id: string;
  total: number;
}

@Controller('orders')
class OrdersController {
  @Post()
  @Track('Order Completed', { properties: ({ result }: { result: Order }) => ({ ...result }) })
  create(@Body() { total }: Order): Order {
    return { id: 'o1', total };
  }
}

@Module({ controllers: [OrdersController] })
class OrdersModule {}

@Injectable()
class Mails {
  constructor(readonly analytics: AnalyticsService) {}
}

@Module({ providers: [Mails] })
class MailsModule {}

/** Options with a queue at which nothing listens, so that a connection to it would be logged. */
const OPTIONS: AnalyticsModuleOptions = {
  writeKey: 'wk_shop',
  webhooks: { urls: ['https://hooks.example.com/events'] },
  connection: 'redis://127.0.0.1:1',
  identity: ({ request }) => ({ userId: String(request?.headers['x-user']) }),
  context: { app: { name: 'shop' } },
};

const apps: INestApplication[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

const log = new LogLines();

function building(analytics: DynamicModule): TestingModuleBuilder {
  @Module({ imports: [analytics, MailsModule], controllers: [OrdersController] })
  class AppModule {}
  return Test.createTestingModule({ imports: [AppModule] }).setLogger(log);
}

async function start(
  analytics: DynamicModule,
  adapter: ExpressAdapter | FastifyAdapter = new ExpressAdapter(),
): Promise<INestApplication> {
  const module = await building(analytics)
    .overrideModule(AnalyticsModule)
    .useModule(AnalyticsTestingModule)
    .compile();
  return listen(module, adapter);
}

async function listen(
  module: TestingModule,
  adapter: ExpressAdapter | FastifyAdapter,
): Promise<INestApplication> {
  const app = module.createNestApplication(adapter);
  apps.push(app);
  await app.listen(0, '127.0.0.1');
  return app;
}

async function order(app: INestApplication, total: number): Promise<void> {
  await fetch(`${await app.getUrl()}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': 'u1' },
    body: JSON.stringify({ total }),
  });
}

describe('an application whose AnalyticsModule a test overrides', () => {
  it.each([
    ['forRoot on Express', () => AnalyticsModule.forRoot(OPTIONS), () => new ExpressAdapter()],
    ['forRoot on Fastify', () => AnalyticsModule.forRoot(OPTIONS), () => new FastifyAdapter()],
    [
      'forRootAsync',
      () => AnalyticsModule.forRootAsync({ useFactory: () => Promise.resolve(OPTIONS) }),
      () => new ExpressAdapter(),
    ],
  ])('records, with its own options, what it would deliver: %s', async (_, analytics, adapter) => {
    const app = await start(analytics(), adapter());
    await order(app, 9);
    const recorded = app.get(RecordedAnalytics);
    expect(recorded.messages).toEqual([
      expect.objectContaining({
        event: 'Order Completed',
        userId: 'u1',
        properties: { id: 'o1', total: 9 },
        context: expect.objectContaining({ app: { name: 'shop' }, ip: expect.any(String) }),
      }),
    ]);
    app.get(Mails).analytics.track({ userId: 'u1', event: 'Mail Sent' });
    expect(recorded.tracked('Mail Sent')).toHaveLength(1);
    expect(app.get(AnalyticsService)).toBe(app.get(Mails).analytics);
  });

  it('opens neither a connection to its queue nor the folder of an embedded queue', async () => {
    const app = await start(AnalyticsModule.forRoot({ ...OPTIONS, flushAt: 1 }));
    await order(app, 9);
    await app.get(AnalyticsService).flush();
    const embedded = await start(
      AnalyticsModule.forRoot({ ...OPTIONS, connection: { embedded: { dataDir: 'never-made' } } }),
    );
    await order(embedded, 9);
    expect(existsSync('never-made')).toBe(false);
    expect(log.analytics).toEqual([]);
  });

  it('needs no connection, even if it only produces', async () => {
    const { writeKey, webhooks } = OPTIONS;
    const app = await start(AnalyticsModule.forRoot({ writeKey, webhooks, worker: false }));
    app.get(AnalyticsService).track({ userId: 'u1', event: 'Order Completed' });
    expect(app.get(RecordedAnalytics).tracked('Order Completed')).toHaveLength(1);
  });

  it('serves its tracking API, and records the messages', async () => {
    const app = await start(AnalyticsModule.forRoot({ ...OPTIONS, trackingApi: true }));
    const response = await fetch(`${await app.getUrl()}/v1/track`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('wk_shop:').toString('base64')}` },
      body: JSON.stringify({ userId: 'u1', event: 'Sent In' }),
    });
    expect(response.status).toBe(200);
    expect(app.get(RecordedAnalytics).tracked('Sent In')).toHaveLength(1);
  });

  it('provides the service with `isGlobal: false` to the modules that import it', async () => {
    const analytics = AnalyticsModule.forRoot({ ...OPTIONS, isGlobal: false });
    const feature = {
      module: MailsModule,
      imports: [analytics],
      providers: [Mails],
      exports: [AnalyticsModule],
    };
    const module = await Test.createTestingModule({ imports: [feature] })
      .overrideModule(AnalyticsModule)
      .useModule(AnalyticsTestingModule)
      .compile();
    module.get(Mails, { strict: false }).analytics.track({ userId: 'u1', event: 'Mail Sent' });
    expect(module.get(RecordedAnalytics).tracked('Mail Sent')).toHaveLength(1);
    await module.close();
  });

  it('records decorated methods with `isGlobal: false`, in modules that do not import the module', async () => {
    const analytics = AnalyticsModule.forRoot({ ...OPTIONS, isGlobal: false });
    const module = await Test.createTestingModule({ imports: [analytics, OrdersModule] })
      .overrideModule(AnalyticsModule)
      .useModule(AnalyticsTestingModule)
      .compile();
    const app = await listen(module, new ExpressAdapter());
    await order(app, 9);
    expect(app.get(RecordedAnalytics).tracked('Order Completed')).toHaveLength(1);
  });

  it('has no destinations at run time and no console, and says what to do instead', async () => {
    const app = await start(
      AnalyticsModule.forRoot({ ...OPTIONS, destinations: {}, console: { authorize: () => undefined } }),
    );
    const creating = app.get(DestinationsService).create({ urls: ['https://hooks.example.com/acme'] });
    await expect(creating).rejects.toMatchObject({
      code: 'DESTINATIONS_DISABLED',
      message: expect.stringContaining('AnalyticsTestingModule has none'),
    });
    expect(() => app.get(ConsoleService).linkFor({ tenant: 'acme' })).toThrow(
      /AnalyticsTestingModule has no console/,
    );
  });

  it('records calls in a transaction if it has an outbox, and refuses them like the real module if not', async () => {
    const executor = { query: () => Promise.reject(new Error('Nothing is stored.')) };
    const event = { userId: 'u1', event: 'Order Completed' };
    const outbox = { connection: 'postgres://127.0.0.1:1/shop' };
    const app = await start(AnalyticsModule.forRoot({ ...OPTIONS, outbox }));
    await app.get(AnalyticsService).within(executor).track(event);
    expect(app.get(RecordedAnalytics).tracked('Order Completed')).toHaveLength(1);
    const without = await start(AnalyticsModule.forRoot(OPTIONS));
    expect(() => without.get(AnalyticsService).within(executor)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_NOT_CONFIGURED' }),
    );
  });

  it('still refuses wrong options', async () => {
    const wrong = AnalyticsModule.forRoot({ ...OPTIONS, flushAt: 0 });
    await expect(start(wrong)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });

  it('fails with the advice to leave out `forRoot`, which would give it a second module', async () => {
    const compiling = building(AnalyticsModule.forRoot(OPTIONS))
      .overrideModule(AnalyticsModule)
      .useModule(AnalyticsTestingModule.forRoot())
      .compile();
    await expect(compiling).rejects.toMatchObject({
      code: 'INVALID_IMPORT',
      message: expect.stringContaining('`overrideModule(AnalyticsModule).useModule(AnalyticsTestingModule)`'),
    });
  });
});
