import 'reflect-metadata';
import { performance } from 'node:perf_hooks';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService, Track } from 'nestjs-analytics';
import { Pool } from 'undici';
import { report, show } from './support/report.mjs';

/** What a decorator costs a method, and what the context costs a request, each compared with the same without it. */
const CALLS = 20_000;
const REQUESTS = 800;
const RUNS = 7;
const CONNECTIONS = 16;

/** Puts decorators on a method, as the compiler would. */
function decorate(type, key, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, key);
  for (const decorator of decorators.reverse()) decorator(type.prototype, key, descriptor);
  Object.defineProperty(type.prototype, key, descriptor);
}

const properties = ({ result }) => ({ total: result });

class Orders {
  bare(total) {
    return total;
  }
  async bareAsync(total) {
    return total;
  }
  skipped(total) {
    return total;
  }
  async skippedAsync(total) {
    return total;
  }
  recorded(total) {
    return total;
  }
  byHand(total) {
    this.analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total } });
    return total;
  }
}
Injectable()(Orders);
decorate(Orders, 'skipped', Track('Order Completed', { userId: 'u1', when: false }));
decorate(Orders, 'skippedAsync', Track('Order Completed', { userId: 'u1', when: false }));
decorate(Orders, 'recorded', Track('Order Completed', { userId: 'u1', properties }));

class ShopController {
  plain() {
    return 'ok';
  }
  decorated() {
    return 'ok';
  }
  recorded() {
    return 'ok';
  }
}
Controller()(ShopController);
decorate(ShopController, 'plain', Get('plain'));
decorate(ShopController, 'decorated', Get('decorated'), Track('Opened', { userId: 'u1', when: false }));
decorate(ShopController, 'recorded', Get('recorded'), Track('Opened', { userId: 'u1' }));

async function start(requestContext) {
  class App {}
  const analytics = AnalyticsModule.forRoot({
    writeKey: 'bench',
    connection: { embedded: { dataDir: 'memory://' } },
    requestContext,
  });
  const imports = requestContext === undefined ? [] : [analytics];
  Module({ imports, controllers: [ShopController], providers: [Orders] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
  return app;
}

/** Resolves to the microseconds of one call. */
async function timeCalls(call) {
  const begin = performance.now();
  for (let i = 0; i < CALLS; i++) {
    const returned = call(i);
    if (typeof returned === 'object') await returned;
  }
  return ((performance.now() - begin) * 1_000) / CALLS;
}

/** Resolves to the microseconds of one request, with many of them at once. */
async function timeRequests(pool, path) {
  let left = REQUESTS;
  const begin = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await (await pool.request({ path, method: 'GET' })).body.dump();
    }),
  );
  return ((performance.now() - begin) * 1_000) / REQUESTS;
}

/** Times the cases in turn, so that a busy moment of the machine affects all of them. The first run warms up. */
async function timeInTurn(cases) {
  const times = cases.map(() => []);
  for (let run = 0; run <= RUNS; run++) {
    for (const [index, { time }] of cases.entries()) {
      const microseconds = await time();
      if (run > 0) times[index].push(microseconds);
    }
  }
  return times;
}

function rowsOf(cases, times) {
  return cases.map(({ name, against }, index) => {
    const base = times[cases.findIndex((one) => one.name === against)];
    const ratios = base === undefined ? [] : times[index].map((time, run) => time / base[run]);
    return {
      case: name,
      'µs each': show(times[index]),
      against: against ?? '',
      ratio: ratios.length > 0 ? show(ratios) : '',
    };
  });
}

const modes = [undefined, false, 'decorated', 'all'];
const apps = new Map();
for (const mode of modes) apps.set(mode, await start(mode));

const orders = apps.get('decorated').get(Orders);
orders.analytics = apps.get('decorated').get(AnalyticsService);
const withoutModule = apps.get(undefined).get(Orders);
const calls = [
  { name: 'bare method', time: () => timeCalls((i) => orders.bare(i)) },
  {
    name: 'decorated, no module',
    against: 'bare method',
    time: () => timeCalls((i) => withoutModule.recorded(i)),
  },
  {
    name: 'decorated, not recorded',
    against: 'bare method',
    time: () => timeCalls((i) => orders.skipped(i)),
  },
  { name: 'bare async method', time: () => timeCalls((i) => orders.bareAsync(i)) },
  {
    name: 'decorated async, not recorded',
    against: 'bare async method',
    time: () => timeCalls((i) => orders.skippedAsync(i)),
  },
  { name: 'track() by hand', time: () => timeCalls((i) => orders.byHand(i)) },
  {
    name: 'decorated, recorded',
    against: 'track() by hand',
    time: () => timeCalls((i) => orders.recorded(i)),
  },
];
report('What a decorator costs a method', rowsOf(calls, await timeInTurn(calls)));

const pools = new Map();
for (const mode of modes) {
  const { port } = apps.get(mode).getHttpServer().address();
  pools.set(mode, new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS }));
}
const requests = [
  { name: 'plain handler, no module', mode: undefined, path: '/plain' },
  {
    name: "plain handler, 'decorated'",
    mode: 'decorated',
    path: '/plain',
    against: 'plain handler, no module',
  },
  { name: "plain handler, 'all'", mode: 'all', path: '/plain', against: 'plain handler, no module' },
  { name: 'decorated handler, false', mode: false, path: '/decorated', against: 'plain handler, no module' },
  {
    name: "decorated handler, 'decorated'",
    mode: 'decorated',
    path: '/decorated',
    against: 'plain handler, no module',
  },
  { name: 'recorded handler, false', mode: false, path: '/recorded', against: 'plain handler, no module' },
  {
    name: "recorded handler, 'decorated'",
    mode: 'decorated',
    path: '/recorded',
    against: 'plain handler, no module',
  },
].map((one) => ({ ...one, time: () => timeRequests(pools.get(one.mode), one.path) }));
report('What the context costs a request', rowsOf(requests, await timeInTurn(requests)));

for (const pool of pools.values()) await pool.close();
for (const app of apps.values()) await app.close();
