import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { ShopDatabase } from './shop/shop-database.js';
import { assertPortIsFree } from './start/port-check.js';
import { readSettings } from './start/settings.js';
import { StartProblem } from './start/start-problem.js';
import { welcome } from './start/welcome.js';

/** The shop has no passwords, so only this machine can reach it. */
const HOST = '127.0.0.1';

const OPTIONS: Pick<NestApplicationOptions, 'rawBody' | 'forceCloseConnections' | 'logger'> = {
  // A signature covers the bytes that were sent. Serializing the parsed body again may give other bytes.
  rawBody: true,
  // An open page never ends its stream, and a server that closes would wait for it.
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
  // Without these hooks, Ctrl-C would end the process before the events in memory are in the queue.
  app.enableShutdownHooks();
  await app.listen(settings.port, HOST);
  console.log(welcome(settings));
}

start().catch((error: unknown) => {
  console.error(error instanceof StartProblem ? error.message : error);
  process.exit(1);
});
