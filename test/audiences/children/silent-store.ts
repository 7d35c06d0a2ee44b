/**
 * An application with a store of its own that never answers one method. Changes an audience, deletes the user, closes
 * when the method has been called, and prints `closed` with the timers that still keep the process alive.
 */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService, AudiencesService } from '../../../src/index.js';
import { MemoryAudienceStore } from '../../../src/testing/memory-audience-store.js';
import type { TestConnection } from '../../support/describe-backend.js';
import { deferred } from '../../support/deferred.js';
import { bound } from '../bound-store.js';

/** What the application does. */
export interface SilentStorePlan {
  connection: TestConnection;
  /** The method that is never answered, of `audiences.store` or, if it is `findByTenant`, of `destinations.store`. */
  method: string;
  /** What the method is answered instead. @default nothing */
  answer?: boolean;
}

function isPlan(value: unknown): value is SilentStorePlan {
  return typeof value === 'object' && value !== null && 'connection' in value && 'method' in value;
}

const plan: unknown = JSON.parse(process.argv[2] ?? '');
if (!isPlan(plan)) throw new Error('A plan is needed');
const { connection, method, answer } = plan;
const called = deferred();

function silent(): Promise<never> {
  called.resolve();
  return answer === undefined ? new Promise(() => undefined) : (Promise.resolve(answer) as Promise<never>);
}

@Module({
  imports: [
    AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      connection,
      worker: false,
      shutdownTimeout: 2_000,
      webhooks: { urls: ['https://hooks.example.com/'] },
      audiences: { store: { ...bound(new MemoryAudienceStore()), [method]: silent } },
      ...(method === 'findByTenant' && {
        destinations: { store: { findByTenant: silent, findById: silent } },
      }),
    }),
  ],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error', 'fatal'] });
void app
  .get(AudiencesService)
  .add('VIP', 'ann')
  .then(
    () => {
      app.get(AnalyticsService).delete({ userId: 'ann' });
    },
    () => undefined,
  );
await called.promise;
await app.close();
// Timers that are due at once do not count, nor does a socket that closes at the end of this event-loop turn.
await new Promise((resolve) => setTimeout(resolve, 1));
for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
console.log(['closed', ...process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')].join(' '));
