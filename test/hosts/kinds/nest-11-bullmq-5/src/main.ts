import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { getQueueToken } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import { ANALYTICS_QUEUE } from 'nestjs-analytics';
import { AppModule } from './app.module.js';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
  app.enableShutdownHooks();
  const serverAdapter = new ExpressAdapter();
  const queues = ['mails', ANALYTICS_QUEUE].map((name) =>
    app.get<Queue>(getQueueToken(name), { strict: false }),
  );
  createBullBoard({ queues: queues.map((queue) => new BullMQAdapter(queue)), serverAdapter });
  app.use('/queues', serverAdapter.getRouter());
  await app.listen(process.env.PORT ?? 3000);
  const dashboard = await fetch(`${await app.getUrl()}/queues/api/queues`);
  console.log(`The dashboard shows ${await dashboard.text()}`);
  console.log(`The shop is open on ${await app.getUrl()}`);
}
void bootstrap();
