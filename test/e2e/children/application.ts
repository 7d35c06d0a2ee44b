/**
 * An application in a process of its own. Its only argument is an `ApplicationPlan` as JSON. It prints its progress,
 * one word a line: `started`, `taken`, `queued`, `closing`, `closed` with the timers that still keep it alive, and last
 * `exit` with the code.
 */
import 'reflect-metadata';
import { once } from 'node:events';
import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService, type CustomDestination } from '../../../src/index.js';
import { moduleOptions } from '../../support/analytics-app.js';
import { planFrom } from '../../support/application-child.js';

const [argument = ''] = process.argv.slice(2);
const {
  take = [],
  delete: deleted = [],
  flush,
  end,
  isHeld = false,
  custom = [],
  worker = true,
  ...options
} = planFrom(JSON.parse(argument));

const customDestinations = custom.map((name): CustomDestination => ({
  id: name,
  sources: [name],
  deliver: async ([message]) => {
    const event = message?.type === 'track' ? message.event : '';
    console.log(`called ${name} ${event}`);
    if (event === 'Hang') await new Promise(() => undefined);
  },
}));

@Module({
  imports: [AnalyticsModule.forRoot(moduleOptions({ ...options, worker, customDestinations }))],
})
class AppModule implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    if (!isHeld) return;
    console.log('closing');
    await held();
  }
}

/** Lets the process run until it gets SIGUSR2. */
async function held(): Promise<void> {
  const running = setInterval(() => undefined, 60_000);
  await once(process, 'SIGUSR2');
  clearInterval(running);
}

process.on('exit', (code) => {
  console.log(`exit ${code}`);
});
const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error', 'fatal'] });
if (end === 'signal') app.enableShutdownHooks();
console.log('started');

const analytics = app.get(AnalyticsService);
for (const messageId of take) analytics.track({ userId: 'u1', event: 'Taken', messageId });
for (const userId of deleted) analytics.delete({ userId });
console.log('taken');
if (flush === true) {
  await analytics.flush();
  console.log('queued');
}
if (end === 'close') {
  if (isHeld) await held();
  await app.close();
  // Timers that are due at once do not count, nor does a socket that closes at the end of this event-loop turn.
  await new Promise((resolve) => setTimeout(resolve, 1));
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  console.log(['closed', ...process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')].join(' '));
}
// Keeps the process running until it is ended, as a web server would.
if (end === 'signal' || end === 'kill') setInterval(() => undefined, 60_000);
