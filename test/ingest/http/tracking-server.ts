import type { Server } from 'node:http';
import type { INestApplication, ModuleMetadata, NestApplicationOptions } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AnalyticsModule, AnalyticsService } from '../../../src/index.js';
import { type AppOptions, moduleOptions } from '../../support/analytics-app.js';
import type { KeyPair } from '../../support/certificates.js';
import { LogLines } from '../../support/log-lines.js';

@Module({})
class HostModule {}

export type Platform = 'Express' | 'Fastify';
export const PLATFORMS: readonly Platform[] = ['Express', 'Fastify'];

export interface ServerOptions {
  platform: Platform;
  analytics: AppOptions;
  /** Controllers, providers and imports of the host. */
  host?: ModuleMetadata;
  nest?: NestApplicationOptions;
  /** Sets up the host's application as its `main.ts` would. */
  configure?: (app: INestApplication) => void;
  /** Trusted proxies, as an option of Fastify or a setting of Express. */
  trustProxy?: boolean | ((address: string) => boolean);
  /** The certificate of a server that speaks TLS. @default plain HTTP */
  https?: KeyPair;
}

export interface ApiAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

/** A Nest application with a web server that has the tracking API. */
export class TrackingServer {
  private constructor(
    readonly app: INestApplication<Server>,
    readonly url: string,
    readonly log: LogLines,
  ) {}

  static async start(options: ServerOptions): Promise<TrackingServer> {
    const { platform, analytics, host = {}, nest, configure, trustProxy = false, https } = options;
    const log = new LogLines();
    const module = {
      ...host,
      module: HostModule,
      imports: [
        ...(host.imports ?? []),
        AnalyticsModule.forRoot(moduleOptions({ trackingApi: true, ...analytics })),
      ],
    };
    const adapter =
      platform === 'Express'
        ? new ExpressAdapter()
        : new FastifyAdapter({ trustProxy, ...(https !== undefined && { https }) });
    const app = await NestFactory.create<INestApplication<Server>>(module, adapter, {
      logger: log,
      abortOnError: false,
      ...(https !== undefined && { httpsOptions: https }),
      ...nest,
    });
    if (adapter instanceof ExpressAdapter) adapter.set('trust proxy', trustProxy);
    configure?.(app);
    await app.listen(0, '127.0.0.1');
    return new TrackingServer(app, await app.getUrl(), log);
  }

  get analytics(): AnalyticsService {
    return this.app.get(AnalyticsService);
  }

  /** Posts a body: text and bytes as they are, anything else as JSON. */
  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    return this.send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: isRaw ? body : JSON.stringify(body),
    });
  }

  async send(path: string, request: RequestInit): Promise<ApiAnswer> {
    const response = await fetch(new URL(path, this.url), { redirect: 'manual', ...request });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const body: unknown = isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body };
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

/** Returns the header for Basic authentication with a write key. */
export function basic(writeKey: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` };
}
