import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { ShopDatabase } from './shop/shop-database.js';
import { assertPortIsFree } from './start/port-check.js';
import { readSettings } from './start/settings.js';
import { StartProblem } from './start/start-problem.js';
import { welcome } from './start/welcome.js';

/** The shop has no passwords, so it is for this machine alone. */
const HOST = '127.0.0.1';

const OPTIONS: Pick<NestApplicationOptions, 'rawBody' | 'forceCloseConnections' | 'logger'> = {
  // A signature is over the bytes that were sent; what was parsed of them may be written differently.
  rawBody: true,
  // A page that watches never disconnects, and the server would wait for it when it closes.
  forceCloseConnections: true,
  logger: ['fatal', 'error', 'warn'],
};

async function start(): Promise<void> {
  const settings = readSettings(process.env);
  await assertPortIsFree(settings.port, HOST);
  const app = await NestFactory.create(
    AppModule.with(settings, await ShopDatabase.open(settings.databaseUrl)),
    OPTIONS,
  );
  // Without them Ctrl-C would end the process before the events in memory are in the queue.
  app.enableShutdownHooks();
  await app.listen(settings.port, HOST);
  console.log(welcome(settings));
}

start().catch((error: unknown) => {
  console.error(error instanceof StartProblem ? error.message : error);
  process.exit(1);
});
