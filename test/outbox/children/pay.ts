/**
 * A shop that pays orders until it is killed, every third order in a transaction that is rolled back. An order has the
 * id of its event. The only argument is the plan as JSON.
 */
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';
import { AnalyticsModule, type AnalyticsModuleOptions, AnalyticsService } from '../../../src/index.js';

const TILLS = 4;
/** Milliseconds between two orders of a till, so that a queue that opens late can work off the backlog. */
const PAUSE = 5;

interface Plan {
  /** The URL of the database with the orders. */
  shop: string;
  /** Id of the customer. */
  userId: string;
}

const [argument = ''] = process.argv.slice(2);
const { shop, userId, ...options } = JSON.parse(argument) as Plan & AnalyticsModuleOptions;

@Module({ imports: [AnalyticsModule.forRoot(options)] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error', 'fatal'] });
const analytics = app.get(AnalyticsService);
const pool = new pg.Pool({ connectionString: shop, max: TILLS });
console.log('started');
await Promise.all(Array.from({ length: TILLS }, payOrders));

async function payOrders(): Promise<never> {
  for (let count = 0; ; count++) {
    const client = await pool.connect();
    const messageId = randomUUID();
    await client.query('BEGIN');
    await client.query('INSERT INTO orders VALUES ($1, 1)', [messageId]);
    await analytics.within(client).track({ userId, event: 'Order Completed', messageId });
    await client.query(count % 3 === 2 ? 'ROLLBACK' : 'COMMIT');
    client.release();
    await setTimeout(PAUSE);
  }
}
