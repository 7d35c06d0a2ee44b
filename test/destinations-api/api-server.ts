import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { expect } from '@jest/globals';
import type { DestinationsAccess, DestinationsOptions } from '../../src/index.js';
import type { AppOptions } from '../support/analytics-app.js';
import { type ApiAnswer, type ServerOptions, TrackingServer } from '../ingest/http/tracking-server.js';
import { type OpenApi, OpenApiCheck } from './openapi-check.js';

/** URLs of destinations that nothing is sent to. */
export const URLS = ['https://hooks.example.com/events'];
const DEFAULT_PATH = '/analytics/destinations';

/** Returns the tenant, or the operator, that the cookie of a signed-in user names. */
export async function authorize({ headers }: IncomingMessage): Promise<DestinationsAccess | undefined> {
  const user = /(?:^|; )user=([^;]*)/.exec(headers.cookie ?? '')?.[1];
  await Promise.resolve();
  if (user === undefined) return undefined;
  return user === 'operator' ? { operator: true } : { tenant: user };
}

/** A signed-in user. Each answer is checked against the API's document. */
export class ApiClient {
  private static readonly checks = new WeakMap<TrackingServer, Promise<OpenApiCheck>>();

  constructor(
    private readonly server: TrackingServer,
    private readonly cookie: string,
    private readonly path: string,
  ) {}

  get(path = ''): Promise<ApiAnswer> {
    return this.send('GET', path);
  }

  post(path = '', body: unknown = {}): Promise<ApiAnswer> {
    return this.send('POST', path, body);
  }

  patch(path: string, body: unknown): Promise<ApiAnswer> {
    return this.send('PATCH', path, body);
  }

  delete(path: string): Promise<ApiAnswer> {
    return this.send('DELETE', path);
  }

  /** Adds a destination, and resolves to its id. */
  async create(fields: object = {}): Promise<string> {
    const { id } = await this.ok(this.post('', { urls: URLS, ...fields }), 201);
    return String(id);
  }

  /** Resolves to the body of an answer, which must have this status. */
  async ok(answer: Promise<ApiAnswer>, status = 200): Promise<Record<string, unknown>> {
    const { status: actual, body } = await answer;
    expect({ status: actual, body }).toMatchObject({ status });
    return body as Record<string, unknown>;
  }

  private async send(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const answer = await this.server.send(this.path + path, {
      method,
      headers: {
        cookie: `theme=dark; ${this.cookie}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    if (method === 'GET') expect(answer.headers.get('connection')).toBe('keep-alive');
    const check = await this.check();
    const [bare = ''] = path.split('?');
    expect(check.problems(method, this.path + bare, answer.status, answer.body)).toEqual([]);
    return answer;
  }

  private check(): Promise<OpenApiCheck> {
    let check = ApiClient.checks.get(this.server);
    if (check === undefined) {
      check = this.server
        .send(`${this.path}/openapi.json`, { headers: { cookie: 'user=operator' } })
        .then(({ body }) => new OpenApiCheck(body as OpenApi));
      ApiClient.checks.set(this.server, check);
    }
    return check;
  }
}

/** A Nest application that serves the API. */
export class ApiServer {
  readonly acme: ApiClient;
  readonly other: ApiClient;
  readonly operator: ApiClient;

  private constructor(
    readonly server: TrackingServer,
    readonly path: string,
  ) {
    this.acme = this.as('acme');
    this.other = this.as('other');
    this.operator = this.as('operator');
  }

  static async start(
    options: Omit<ServerOptions, 'analytics'> &
      Pick<
        AppOptions,
        'connection' | 'sources' | 'trackingApi' | 'webhooks' | 'customDestinations' | 'shutdownTimeout'
      >,
    destinations: DestinationsOptions = {},
  ): Promise<ApiServer> {
    const {
      connection,
      sources,
      trackingApi = false,
      webhooks,
      customDestinations,
      shutdownTimeout,
      ...host
    } = options;
    const { api = { authorize }, ...others } = destinations;
    const encryptionKey = randomBytes(32).toString('hex');
    const server = await TrackingServer.start({
      ...host,
      analytics: {
        ...(connection !== undefined && { connection }),
        ...(sources !== undefined && { sources }),
        trackingApi,
        ...(webhooks !== undefined && { webhooks }),
        ...(customDestinations !== undefined && { customDestinations }),
        ...(shutdownTimeout !== undefined && { shutdownTimeout }),
        flushAt: 1,
        destinations: { encryptionKey, allowPrivateNetwork: true, api, ...others },
      },
    });
    return new ApiServer(server, (api.path ?? DEFAULT_PATH).replace(/\/$/, ''));
  }

  as(user: string): ApiClient {
    return new ApiClient(this.server, `user=${user}`, this.path);
  }

  get http(): Server {
    return this.server.app.getHttpServer();
  }

  close(): Promise<void> {
    return this.server.close();
  }
}
