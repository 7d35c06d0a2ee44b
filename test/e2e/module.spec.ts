import { BullModule, getQueueToken, InjectQueue } from '@nestjs/bullmq';
import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  type DynamicModule,
  type INestApplication,
  Injectable,
  Module,
  type NestApplicationOptions,
  Post,
} from '@nestjs/common';
import { LazyModuleLoader, NestFactory, REQUEST } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  ANALYTICS_QUEUE,
  AnalyticsModule,
  type AnalyticsModuleOptions,
  type AnalyticsOptionsFactory,
  AnalyticsService,
} from '../../src/index.js';
import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import { LogLines } from '../support/log-lines.js';
import { MEMORY } from '../support/memory-connection.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** The module as JavaScript code sees it, which may pass anything. */
const javascript: {
  forRoot(options?: unknown): DynamicModule;
  forRootAsync(options?: unknown): DynamicModule;
  forFeature(features?: unknown): DynamicModule;
} = AnalyticsModule;

const OPTIONS: AnalyticsModuleOptions = { writeKey: 'wk_test', connection: MEMORY };

@Injectable()
class Shop {
  constructor(readonly analytics: AnalyticsService) {}
}

@Module({ providers: [Shop] })
class ShopModule {}

@Module({})
class OrdersModule {}

@Module({})
class InvoicesModule {}

@Injectable()
class Dashboard {
  constructor(@InjectQueue(ANALYTICS_QUEUE) readonly queue: BatchJobQueue) {}
}

@Module({ providers: [Dashboard] })
class DashboardModule {}

@Injectable()
class Settings implements AnalyticsOptionsFactory {
  createAnalyticsOptions(): AnalyticsModuleOptions {
    return OPTIONS;
  }
}

@Injectable()
class BrokenSettings implements AnalyticsOptionsFactory {
  createAnalyticsOptions(): AnalyticsModuleOptions {
    throw new TypeError('WRITE_KEY is not set');
  }
}

@Injectable()
class NoSettings {}

@Module({ providers: [Settings, NoSettings], exports: [Settings, NoSettings] })
class SettingsModule {}

@Controller()
class CheckoutController {
  constructor(private readonly analytics: AnalyticsService) {}

  @Post('checkout')
  checkout(): { messageId: string } {
    return { messageId: this.analytics.track({ userId: 'u1', event: 'Checked Out' }) };
  }
}

describe('AnalyticsModule', () => {
  const stage = new Stage();

  it.each([
    ['forRoot', () => AnalyticsModule.forRoot(OPTIONS)],
    [
      'forRootAsync with useFactory',
      () =>
        AnalyticsModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: (settings: Settings) => Promise.resolve(settings.createAnalyticsOptions()),
        }),
    ],
    ['forRootAsync with useClass', () => AnalyticsModule.forRootAsync({ useClass: Settings })],
    [
      'forRootAsync with useExisting',
      () => AnalyticsModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings }),
    ],
  ])('provides its service to every module: %s', async (_, analytics) => {
    const app = await stage.appWith([analytics(), ShopModule]);
    expect(app.context.get(Shop, { strict: false }).analytics).toBe(app.analytics);
    expect(app.analytics.track({ userId: 'u1', event: 'A' })).toMatch(/\S/);
  });

  it('provides its service to a module that is loaded later', async () => {
    const app = await stage.appWith([AnalyticsModule.forRoot(OPTIONS)]);
    const later = await app.context.get(LazyModuleLoader).load(() => ShopModule);
    expect(later.get(Shop).analytics).toBe(app.analytics);
  });

  it('reports a stopped worker until the application is initialised', async () => {
    const analytics = AnalyticsModule.forRoot({
      ...OPTIONS,
      webhooks: { urls: ['https://hooks.example.com/events'] },
    });
    const app = await NestFactory.create(analytics, { logger: false });
    const service = app.get(AnalyticsService);
    service.track({ userId: 'u1', event: 'A', integrations: { All: false } });
    await expect(service.flush()).resolves.toMatchObject({ pending: 0 });
    expect(service.status()).toMatchObject({ queue: 'up', worker: 'stopped' });
    await app.init();
    expect(service.status()).toMatchObject({ worker: 'running' });
    await app.close();
  });

  it('provides its service only to modules that import it, with isGlobal: false', async () => {
    // The options never arrive, so that the failed boot leaves no open database that nobody could close.
    const useFactory = (): Promise<AnalyticsModuleOptions> => new Promise(() => undefined);
    const analytics = AnalyticsModule.forRootAsync({ useFactory, isGlobal: false });
    await expect(stage.appWith([analytics, ShopModule])).rejects.toThrow(/AnalyticsService/);
  });

  it.each([
    [
      'that import what forRoot returned',
      (analytics: DynamicModule): DynamicModule[] => [
        { module: OrdersModule, imports: [analytics], providers: [Shop] },
        { module: InvoicesModule, imports: [analytics], providers: [Shop] },
      ],
    ],
    [
      'that import a module which exports it',
      (analytics: DynamicModule): DynamicModule[] => {
        const shared = { module: InvoicesModule, imports: [analytics], exports: [AnalyticsModule] };
        return [{ module: OrdersModule, imports: [shared], providers: [Shop] }];
      },
    ],
  ])('provides its service, with isGlobal: false, to modules %s', async (_, modulesWith) => {
    const analytics = AnalyticsModule.forRoot({ ...OPTIONS, isGlobal: false });
    const app = await stage.appWith(modulesWith(analytics));
    const service = app.context.get(AnalyticsService, { strict: false });
    expect(app.context.get(Shop, { strict: false }).analytics).toBe(service);
  });

  it.each([
    ['alone', [AnalyticsModule]],
    [
      'in a module beside the one that has options',
      [{ module: ShopModule, imports: [AnalyticsModule] }, AnalyticsModule.forRoot(OPTIONS)],
    ],
    [
      'in a module of its own, with isGlobal: false',
      [
        { module: OrdersModule, imports: [AnalyticsModule] },
        AnalyticsModule.forRoot({ ...OPTIONS, isGlobal: false }),
      ],
    ],
  ])('says what to import if it is imported without options: %s', async (_, imports) => {
    await expect(stage.appWith(imports)).rejects.toMatchObject({
      code: 'INVALID_IMPORT',
      message: expect.stringMatching(/Import `AnalyticsModule\.forRoot\(.* once, in the root module/),
    });
  });

  it('says that there is no forFeature, and what to do instead', () => {
    expect(() => javascript.forFeature([])).toThrow(
      expect.objectContaining({
        code: 'INVALID_IMPORT',
        message: expect.stringMatching(/no `forFeature`\. Import `AnalyticsModule\.forRoot` or/),
      }),
    );
  });

  it.each([
    [
      'useFactory that throws',
      {
        useFactory: (): never => {
          throw new TypeError('WRITE_KEY is not set');
        },
      },
    ],
    ['useFactory that rejects', { useFactory: () => Promise.reject(new TypeError('WRITE_KEY is not set')) }],
    ['useClass that throws', { useClass: BrokenSettings }],
  ])('reports the failure of a %s, and keeps the error as its cause', async (_, options) => {
    await expect(stage.appWith([javascript.forRootAsync(options)])).rejects.toMatchObject({
      code: 'OPTIONS_FACTORY_FAILED',
      message: expect.stringMatching(/forRootAsync threw TypeError: WRITE_KEY is not set\. Correct/),
      cause: expect.any(TypeError),
    });
  });

  it.each([
    ['useClass', { useClass: NoSettings }],
    ['useExisting', { imports: [SettingsModule], useExisting: NoSettings }],
  ])('says which method the class of %s needs', async (_, options) => {
    await expect(stage.appWith([javascript.forRootAsync(options)])).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [{ expected: expect.stringContaining('`createAnalyticsOptions()`') }],
    });
  });

  it.each([
    ['without an argument', undefined],
    ['with what is injected alone', { inject: [Settings] }],
    ['with an import that is not there', { useClass: undefined }],
  ])('names the possible factories if forRootAsync is called %s', (_, options) => {
    expect(() => javascript.forRootAsync(options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTIONS',
        problems: [
          { path: 'useFactory', expected: expect.stringContaining('`useClass`'), given: 'none of them' },
        ],
      }),
    );
  });

  it.each([
    ['worker', 'no'],
    ['isGlobal', 'no'],
    ['trackingApi', 7],
    ['sourceNames', 'default'],
  ])('refuses the extra %s with a wrong type, beside options and beside a factory', async (name, value) => {
    for (const analytics of [
      javascript.forRoot({ ...OPTIONS, [name]: value }),
      javascript.forRootAsync({ useFactory: () => OPTIONS, [name]: value }),
    ]) {
      await expect(stage.appWith([analytics])).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        problems: [{ path: name }],
      });
    }
  });

  it('refuses unknown names beside a factory, and says where an option belongs', async () => {
    const misplaced = { flushAt: 1, beforeSend: () => null, enabled: false };
    const misspelt = { workers: false, trackingAPI: true, somethingElse: 1 };
    const makers = [{ useFactory: () => OPTIONS }, { useClass: Settings }];
    for (const maker of makers) {
      const analytics = javascript.forRootAsync({ ...maker, ...misplaced, ...misspelt });
      await expect(stage.appWith([analytics])).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        problems: [
          ...Object.keys(misplaced).map((path) => ({
            path,
            expected: 'this option in what `useFactory` returns, not beside it',
          })),
          { path: 'workers', given: 'an unknown name; did you mean `worker`?' },
          { path: 'trackingAPI', given: 'an unknown name; did you mean `trackingApi`?' },
          { path: 'somethingElse', expected: expect.stringMatching(/^one of the extras isGlobal, worker, /) },
        ],
      });
    }
  });

  it('accepts everything that Nest allows beside a factory', async () => {
    const app = await stage.appWith([
      javascript.forRootAsync({
        imports: [SettingsModule],
        inject: [Settings],
        provideInjectionTokensFrom: [Settings],
        useFactory: (settings: Settings) => settings.createAnalyticsOptions(),
        useClass: undefined,
        useExisting: undefined,
        global: true,
        isGlobal: true,
      }),
    ]);
    expect(app.analytics.status().refused).toBe(0);
  });

  it('provides its queue by name, for dashboards and inspection', async () => {
    const receiver = await stage.receiver();
    const app = await stage.appWith([
      AnalyticsModule.forRoot({ ...OPTIONS, webhooks: webhooksTo(receiver) }),
      DashboardModule,
    ]);
    app.analytics.track({ userId: 'u1', event: 'A' });
    await app.analytics.flush();
    await app.settled();
    const { queue } = app.context.get(Dashboard, { strict: false });
    expect(queue).toBe(app.context.get(getQueueToken(ANALYTICS_QUEUE)));
    expect(await queue.getCompletedCount()).toBe(1);
  });

  it('is refused if one application sets it up twice', async () => {
    const twice = [AnalyticsModule.forRoot(OPTIONS), AnalyticsModule.forRoot({ ...OPTIONS, flushAt: 1 })];
    await expect(stage.appWith(twice)).rejects.toMatchObject({ code: 'DUPLICATE_MODULE' });
  });

  it.each([
    ['forRoot() without an argument', () => javascript.forRoot()],
    ['a factory that returns nothing right', () => javascript.forRootAsync({ useFactory: () => ({}) })],
  ])('says what is missing: %s', async (_, analytics) => {
    await expect(stage.appWith([analytics()])).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [{ path: 'writeKey' }],
    });
  });

  it('is refused with request-scoped options, since each request would have a client of its own', async () => {
    // In an imported module, Nest refuses this itself, except for its older versions.
    const app = await NestFactory.createApplicationContext(OrdersModule, { logger: new LogLines() });
    const analytics = AnalyticsModule.forRootAsync({
      isGlobal: false,
      inject: [REQUEST],
      useFactory: () => OPTIONS,
    });
    const module = await app.get(LazyModuleLoader).load(() => analytics);
    await expect(module.resolve(AnalyticsService)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [{ path: 'inject', given: expect.stringContaining('for each request') }],
    });
    await app.close();
  });

  it('uses the connection of the application’s BullMQ module if it has none of its own', async () => {
    const host = BullModule.forRoot({ connection: { host: '127.0.0.1', port: 1 } });
    const app = await stage.appWith([
      host,
      AnalyticsModule.forRoot({
        writeKey: 'wk_test',
        webhooks: { urls: ['https://hooks.example.com/events'] },
        shutdownTimeout: 200,
      }),
    ]);
    expect(await app.log.line(/cannot be reached/)).toMatch(/The queue on Redis/);
  });

  it.each([
    ['Express', () => new ExpressAdapter()],
    ['Fastify', () => new FastifyAdapter()],
  ])('serves an application on %s', async (_, adapter) => {
    const receiver = await stage.receiver();
    const analytics = AnalyticsModule.forRoot({ ...OPTIONS, flushAt: 1, webhooks: webhooksTo(receiver) });
    @Module({ imports: [analytics], controllers: [CheckoutController] })
    class AppModule {}
    const options: NestApplicationOptions = { logger: new LogLines(), abortOnError: false };
    const app: INestApplication = await stage.add(NestFactory.create(AppModule, adapter(), options));
    await app.listen(0, '127.0.0.1');
    const response = await fetch(`${await app.getUrl()}/checkout`, { method: 'POST' });
    const [request] = await receiver.received(1);
    expect(await response.json()).toEqual({ messageId: request?.headers['webhook-id'] });
  });
});
