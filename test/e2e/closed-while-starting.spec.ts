import { type BeforeApplicationShutdown, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { AnalyticsModule, AnalyticsService } from '../../src/index.js';
import { deferred } from '../support/deferred.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Part of an application that is told to close while it is starting, and that takes its time to close. */
@Injectable()
class EarlyEnd implements OnModuleInit, BeforeApplicationShutdown {
  readonly begun = deferred();
  readonly work = deferred();
  closed = Promise.resolve();
  close = (): Promise<void> => Promise.resolve();

  async onModuleInit(): Promise<void> {
    this.closed = this.close();
    await this.begun.promise;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.begun.resolve();
    await this.work.promise;
  }
}

describeAnyServer('an application that begins to close while it is starting', (backend) => {
  const stage = new Stage();

  it('does not begin to deliver', async () => {
    const receiver = await stage.receiver();
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver) };
    const producer = await stage.app({ ...options, worker: false });
    producer.analytics.track({ userId: 'u1', event: 'Waiting' });
    await producer.close();

    const analytics = AnalyticsModule.forRoot({ writeKey: 'wk_test', ...options });
    @Module({ imports: [analytics], providers: [EarlyEnd] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    const end = app.get(EarlyEnd);
    end.close = () => app.close();
    await app.init();
    expect(app.get(AnalyticsService).status()).toMatchObject({ worker: 'stopped' });
    end.work.resolve();
    await end.closed;
    expect(receiver.requests).toEqual([]);
  });
});
