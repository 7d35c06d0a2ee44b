/**
 * A host whose process may open no more files after its start, and whose embedded queue writes until its database
 * crashes. The host prints its log.
 */
import 'reflect-metadata';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule } from '../../../../src/index.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../../../src/queue/queue-backend.js';

const [dataDir = '', prlimit = ''] = process.argv.slice(2);

@Module({
  imports: [
    AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      webhooks: { urls: ['https://hooks.example.com/events'] },
      connection: { embedded: { dataDir } },
    }),
  ],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule);
const { storage } = app.get<QueueBackend>(QUEUE_BACKEND);
if (storage.kind !== 'postgres') throw new Error('The embedded database is a PostgreSQL');
const { pool } = storage;

/** Writes text that cannot be compressed, so that PostgreSQL soon needs a new file for its log. */
async function write(): Promise<void> {
  await pool.query('INSERT INTO filler VALUES ($1)', [randomBytes(50_000).toString('hex')]);
}

await pool.query('CREATE TABLE filler (text text)');
await write();
execFileSync(prlimit, ['--pid', String(process.pid), '--nofile=1:']);
// Writes may be refused before one crashes the database, which the host's log reports.
for (let files = 0; files < 1_000; files++) await write().catch(() => undefined);
