/**
 * An application that evaluates the CommonJS of the package anew each time, as `jest.resetModules()` and some tools that
 * reload code have it, and prints what becomes of it.
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

/** Prints whether the service is given to whoever has imported the first copy, too. */
async function start(first, { AnalyticsModule, AnalyticsService }) {
  class Application {}
  Module({ imports: [AnalyticsModule.forRoot(OPTIONS)] })(Application);
  const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
  console.log('given', app.get(first.AnalyticsService) === app.get(AnalyticsService));
  await app.close();
}

/** Sets a copy up, and holds nothing of it. */
function setUp() {
  const { AnalyticsModule, AnalyticsService } = load();
  AnalyticsModule.forRoot(OPTIONS);
  return new WeakRef(AnalyticsService);
}

const first = load();
await start(first, first);
const copies = [setUp(), setUp(), setUp()];
await start(first, load());
// What a weak reference was made of is held until its turn of the event loop has ended.
for (let turn = 0; turn < 3; turn++) {
  await pause(10);
  globalThis.gc();
}
console.log('held', copies.filter((copy) => copy.deref() !== undefined).length);
