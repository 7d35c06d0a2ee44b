import { BullModule, getQueueToken, InjectQueue } from '@nestjs/bullmq';
import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  type INestApplication,
  Injectable,
  Module,
  type NestApplicationOptions,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
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

const OPTIONS: AnalyticsModuleOptions = { writeKey: 'wk_test', connection: MEMORY };

@Injectable()
class Shop {
  constructor(readonly analytics: AnalyticsService) {}
}

@Module({ providers: [Shop] })
class ShopModule {}

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

@Module({ providers: [Settings], exports: [Settings] })
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
  ])('gives every module its service: %s', async (_, analytics) => {
    const app = await stage.appWith([analytics(), ShopModule]);
    expect(app.context.get(Shop, { strict: false }).analytics).toBe(app.analytics);
    expect(app.analytics.track({ userId: 'u1', event: 'A' })).toMatch(/\S/);
  });

  it('gives its service only to those who import it with isGlobal: false', async () => {
    // Its options never come, so that a boot which fails leaves no database open that nobody could close.
    const useFactory = (): Promise<AnalyticsModuleOptions> => new Promise(() => undefined);
    const analytics = AnalyticsModule.forRootAsync({ useFactory, isGlobal: false });
    await expect(stage.appWith([analytics, ShopModule])).rejects.toThrow(/AnalyticsService/);
  });

  it('gives its queue by its name, to dashboards and to who looks closer', async () => {
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

  it('is refused a second time in one application, which would have two of everything', async () => {
    const twice = [AnalyticsModule.forRoot(OPTIONS), AnalyticsModule.forRoot({ ...OPTIONS, flushAt: 1 })];
    await expect(stage.appWith(twice)).rejects.toMatchObject({ code: 'DUPLICATE_MODULE' });
  });

  it.each([
    ['forRoot() without an argument', () => AnalyticsModule.forRoot()],
    ['a factory that returns nothing right', () => AnalyticsModule.forRootAsync({ useFactory: () => ({}) })],
  ])('says what is missing: %s', async (_, analytics) => {
    await expect(stage.appWith([analytics()])).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [{ path: 'writeKey' }],
    });
  });

  it('uses the connection of the BullMQ module of the application where it has none of its own', async () => {
    const host = BullModule.forRoot({ connection: { host: '127.0.0.1', port: 1 } });
    const app = await stage.appWith([
      host,
      AnalyticsModule.forRoot({ writeKey: 'wk_test', shutdownTimeout: 200 }),
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
