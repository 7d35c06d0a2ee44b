import { EventEmitter, once } from 'node:events';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { INestApplication, ModuleMetadata, Type } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import {
  AnalyticsModule,
  type AnalyticsMessage,
  type AnalyticsModuleOptions,
} from '../../../../src/index.js';
import { type AppOptions, moduleOptions } from '../../../support/analytics-app.js';
import { RedisServer } from '../../../support/redis-server.js';
import { Logs } from './logs.js';

export interface StartOptions extends ModuleMetadata {
  /** Options of the module, on top of those of the test. */
  analytics?: AppOptions;
  /** Serves the tracking API as well. */
  trackingApi?: boolean;
  /** Leaves the module out. */
  withoutAnalytics?: boolean;
  /** @default 'express' */
  adapter?: 'express' | 'fastify' | AbstractHttpAdapter;
  /** Called before the module is compiled. */
  override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** Called before the application is initialised. */
  configure?: (app: INestApplication) => unknown;
}

/** A real application with the module, and what it records. */
export class DecoratedApp {
  constructor(
    readonly nest: INestApplication,
    /** Every message, as `beforeSend` sees it. */
    readonly messages: AnalyticsMessage[],
    readonly logs: Logs,
    private readonly recordings: EventEmitter,
  ) {}

  get<T>(type: Type<T>): T {
    return this.nest.get(type, { strict: false });
  }

  async url(path = ''): Promise<string> {
    return `${(await this.nest.getUrl()).replace('[::1]', '127.0.0.1')}${path}`;
  }

  /** Makes a request, by default a `GET`. */
  async request(path: string, init?: RequestInit): Promise<{ status: number; body: string }> {
    const response = await fetch(await this.url(path), init);
    return { status: response.status, body: await response.text() };
  }

  /** Resolves with all messages as soon as there are `count`. */
  async recorded(count: number): Promise<AnalyticsMessage[]> {
    while (this.messages.length < count) await once(this.recordings, 'message');
    return this.messages;
  }

  /** Names of the recorded events, and types of the other messages. */
  get events(): string[] {
    return this.messages.map((message) => (message.type === 'track' ? message.event : message.type));
  }
}

/** Applications of one test file, on a queue of its own. They are closed after each test. */
export class DecoratedApps {
  private readonly running: INestApplication[] = [];
  private server: RedisServer | undefined;

  /** Called once in a test file, outside of its tests. */
  static forThisFile(): DecoratedApps {
    const apps = new DecoratedApps();
    beforeAll(async () => {
      if (RedisServer.installed) apps.server = await RedisServer.create();
    });
    afterEach(() => apps.close());
    afterAll(() => apps.server?.dispose());
    return apps;
  }

  /** Server of the queue, or `undefined` if Redis is not installed and the embedded database serves. */
  get queueServer(): RedisServer | undefined {
    return this.server;
  }

  /** The queue of these applications, as the option `connection`. */
  get connection(): AnalyticsModuleOptions['connection'] {
    return this.server?.url() ?? { embedded: { dataDir: 'memory://' } };
  }

  async start({
    analytics,
    trackingApi = false,
    withoutAnalytics = false,
    adapter = 'express',
    override = (builder) => builder,
    configure,
    ...metadata
  }: StartOptions): Promise<DecoratedApp> {
    const messages: AnalyticsMessage[] = [];
    const recordings = new EventEmitter();
    const module = AnalyticsModule.forRoot(
      moduleOptions({
        trackingApi,
        connection: this.connection,
        beforeSend: (message) => {
          messages.push(message);
          recordings.emit('message');
          return message;
        },
        ...analytics,
      }),
    );
    const imports = [...(withoutAnalytics ? [] : [module]), ...(metadata.imports ?? [])];
    const logs = new Logs();
    const builder = Test.createTestingModule({ ...metadata, imports }).setLogger(logs);
    const compiled = await override(builder).compile();
    const nest = compiled.createNestApplication(adapterOf(adapter));
    this.running.push(nest);
    await configure?.(nest);
    await nest.listen(0, '127.0.0.1');
    return new DecoratedApp(nest, messages, logs, recordings);
  }

  private async close(): Promise<void> {
    await Promise.all(this.running.splice(0).map((app) => app.close()));
  }
}

function adapterOf(adapter: 'express' | 'fastify' | AbstractHttpAdapter): AbstractHttpAdapter {
  if (adapter === 'express') return new ExpressAdapter();
  return adapter === 'fastify' ? new FastifyAdapter() : adapter;
}
