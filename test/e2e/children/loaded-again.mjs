/**
 * Evaluates the CommonJS files of the package again for each application, as `jest.resetModules()` and some tools that
 * reload code do, and prints the results.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const OPTIONS = { writeKey: 'wk', enabled: false };

function load() {
  const require = createRequire(import.meta.url);
  const loaded = require('nestjs-analytics');
  for (const path of Object.keys(require.cache)) if (path.includes('/dist/cjs/')) delete require.cache[path];
  return loaded;
}

/** Prints whether code that imported the first copy gets the same service. */
async function start(first, { AnalyticsModule, AnalyticsService }) {
  class Application {}
  Module({ imports: [AnalyticsModule.forRoot(OPTIONS)] })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
  console.log('given', app.get(first.AnalyticsService) === app.get(AnalyticsService));
  await app.close();
}

/** Sets a copy up without keeping a strong reference to it. */
function setUp() {
  const { AnalyticsModule, AnalyticsService } = load();
  AnalyticsModule.forRoot(OPTIONS);
  return new WeakRef(AnalyticsService);
}

const first = load();
await start(first, first);
const copies = [setUp(), setUp(), setUp()];
await start(first, load());
// The target of a new weak reference stays alive until the current turn of the event loop has ended.
for (let turn = 0; turn < 3; turn++) {
  await pause(10);
  globalThis.gc();
}
console.log('held', copies.filter((copy) => copy.deref() !== undefined).length);
