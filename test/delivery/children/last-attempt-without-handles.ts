/**
 * An application that delivers one message, in a single attempt, to the URL given as its argument. It has no file
 * handle left until that attempt is over. Prints the class of each outcome with its error or status.
 */
import 'reflect-metadata';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService, DeliveriesService } from '../../../src/index.js';

const [, , url = ''] = process.argv;

const module = AnalyticsModule.forRoot({
  writeKey: 'wk',
  connection: { embedded: { dataDir: 'memory://' } },
  webhooks: { urls: [url], allowPrivateNetwork: true, retryWindow: 0 },
});

function takeAllHandles(): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync(devNull, 'r'));
  } catch {
    return taken;
  }
}

const app = await NestFactory.createApplicationContext(module, { logger: false });
const handles = takeAllHandles();
app.get(DeliveriesService).outcomes$.subscribe(({ class: result, outcomes: [outcome] }) => {
  console.log(`${result} ${outcome?.error ?? String(outcome?.status)}`);
  for (const handle of handles.splice(0)) closeSync(handle);
  if (result !== 'retry') void app.close();
});
app.get(AnalyticsService).track({ userId: 'u1', event: 'Late' });
await app.get(AnalyticsService).flush();
