import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type INestApplication,
  Post,
  Sse,
} from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { ClientProxyFactory, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { type OnGatewayConnection, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { firstValueFrom, Observable, of } from 'rxjs';
import { WebSocket } from 'undici';
import { AnalyticsService, Track } from '../../../src/index.js';
import { freePort } from '../../support/free-port.js';
import { PlainGraphQLDriver } from './support/graphql-driver.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

const JSON_BODY = { method: 'POST', headers: { 'content-type': 'application/json' } };

@Controller('orders')
class OrdersController {
  @Post()
  @Track('Order Completed', {
    userId: 'u1',
    properties: ({ args: [order], result }) => ({ total: order.total, id: result.id }),
  })
  create(@Body() order: { total: number }): Promise<{ id: string }> {
    return Promise.resolve({ id: `o${order.total}` });
  }

  @Track('Orders Listed', { userId: 'u1', properties: ({ result }) => ({ result }) })
  @Get()
  list(): Observable<string> {
    return of('first', 'last');
  }

  @Sse('stream')
  @Track('Orders Streamed', { userId: 'u1' })
  stream(): Observable<{ data: string }> {
    return of({ data: 'one' }, { data: 'two' });
  }
}

describe.each(['express', 'fastify'] as const)('a decorated handler on %s', (adapter) => {
  it('is recorded with its arguments, its result and its request', async () => {
    const app = await apps.start({ adapter, controllers: [OrdersController] });
    const response = await app.request('/orders', { ...JSON_BODY, body: '{"total":5}' });
    expect(response).toEqual({ status: 201, body: '{"id":"o5"}' });
    expect(app.messages).toEqual([
      expect.objectContaining({
        event: 'Order Completed',
        properties: { total: 5, id: 'o5' },
        context: expect.objectContaining({ ip: '127.0.0.1' }),
      }),
    ]);
  });

  it('is recorded when its Observable completes', async () => {
    const app = await apps.start({ adapter, controllers: [OrdersController] });
    await expect(app.request('/orders')).resolves.toEqual({ status: 200, body: 'last' });
    await expect(app.request('/orders/stream')).resolves.toMatchObject({
      body: expect.stringContaining('data: two'),
    });
    expect(app.messages).toEqual([
      expect.objectContaining({ event: 'Orders Listed', properties: { result: 'last' } }),
      expect.objectContaining({ event: 'Orders Streamed' }),
    ]);
  });
});

@Resolver()
class BooksResolver {
  @Query(() => String)
  @Track('Book Viewed', { userId: 'u1', properties: ({ args: [title] }) => ({ title }) })
  book(@Args('title') title: string): string {
    return title.toUpperCase();
  }

  @Track('Book Bought', { properties: ({ result }) => ({ result }) })
  @Mutation(() => Boolean)
  buy(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

describe.each(['express', 'fastify'] as const)('a decorated GraphQL resolver on %s', (adapter) => {
  it('is recorded for queries and mutations, with the request of their operation', async () => {
    const app = await apps.start({
      adapter,
      imports: [GraphQLModule.forRoot({ driver: PlainGraphQLDriver, autoSchemaFile: true })],
      providers: [BooksResolver],
    });
    const ask = (query: string): Promise<{ body: string }> =>
      app.request('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-anonymous-id': 'a1', 'user-agent': 'reader' },
        body: JSON.stringify({ query }),
      });
    await expect(ask('{ book(title: "emma") }')).resolves.toMatchObject({ body: '{"data":{"book":"EMMA"}}' });
    await expect(ask('mutation { buy }')).resolves.toMatchObject({ body: '{"data":{"buy":true}}' });
    const context = expect.objectContaining({ ip: '127.0.0.1', userAgent: 'reader' });
    expect(app.messages).toEqual([
      expect.objectContaining({ event: 'Book Viewed', properties: { title: 'emma' }, userId: 'u1', context }),
      expect.objectContaining({
        event: 'Book Bought',
        properties: { result: true },
        anonymousId: 'a1',
        context,
      }),
    ]);
  });
});

const senderOf = (host: ExecutionContext): string => host.switchToRpc().getData<{ sender: string }>().sender;

@Controller()
class AccountsController {
  @MessagePattern('sum')
  @Track('Summed', { properties: ({ result }) => ({ result }) })
  sum(@Payload() { values }: { values: number[] }): number {
    return values.reduce((sum, value) => sum + value, 0);
  }

  @Track('Logged in')
  @EventPattern('login')
  login(data: unknown): unknown {
    return data;
  }
}

describe.each([true, false])('a decorated TCP handler with inheritAppConfig: %s', (inheritAppConfig) => {
  it.each(['decorated', 'all'] as const)(
    'is recorded for messages and events, and `identity` sees their data (%s)',
    async (requestContext) => {
      const port = await freePort();
      const app = await apps.start({
        controllers: [AccountsController],
        analytics: {
          requestContext,
          identity: ({ host }) => ({ userId: senderOf(host) }),
        },
        configure: (nest: INestApplication) => {
          nest.connectMicroservice(
            { transport: Transport.TCP, options: { host: '127.0.0.1', port } },
            { inheritAppConfig },
          );
          return nest.startAllMicroservices();
        },
      });
      const client = ClientProxyFactory.create({
        transport: Transport.TCP,
        options: { host: '127.0.0.1', port },
      });
      await expect(firstValueFrom(client.send('sum', { sender: 'u1', values: [1, 2] }))).resolves.toBe(3);
      client.emit('login', { sender: 'u2' });
      const messages = await app.recorded(2);
      client.close();
      expect(messages).toEqual([
        expect.objectContaining({ event: 'Summed', userId: 'u1', properties: { result: 3 } }),
        expect.objectContaining({ event: 'Logged in', userId: 'u2' }),
      ]);
    },
  );
});

@WebSocketGateway()
class ChatGateway implements OnGatewayConnection {
  constructor(private readonly analytics: AnalyticsService) {}

  handleConnection(client: { request?: unknown }, request: unknown): void {
    client.request = request;
  }

  @SubscribeMessage('say')
  @Track('Said', { properties: ({ args: [, text], result }) => ({ text, answer: result.data }) })
  say(_client: unknown, text: string): { event: string; data: string } {
    return { event: 'said', data: text.toUpperCase() };
  }

  @SubscribeMessage('whisper')
  whisper(): void {
    this.analytics.track({ event: 'Whispered', userId: 'u1' });
  }
}

async function connect(app: DecoratedApp): Promise<WebSocket> {
  const socket = new WebSocket((await app.url('/')).replace('http', 'ws'), {
    headers: { 'x-anonymous-id': 'a1', 'user-agent': 'chat' },
  });
  await once(socket, 'open');
  return socket;
}

describe('a WebSocket gateway', () => {
  it.each([
    ['decorated', { library: expect.anything() }],
    ['all', { library: expect.anything(), ip: '127.0.0.1', userAgent: 'chat' }],
  ] as const)(
    'gives handlers without a decorator the context of the handshake only if requestContext says so: %s',
    async (requestContext, context) => {
      const app = await apps.start({
        providers: [ChatGateway],
        analytics: { requestContext },
        configure: (nest) => nest.useWebSocketAdapter(new WsAdapter(nest)),
      });
      const socket = await connect(app);
      socket.send(JSON.stringify({ event: 'whisper' }));
      expect(await app.recorded(1)).toEqual([expect.objectContaining({ event: 'Whispered', context })]);
      socket.close();
    },
  );

  it('has its messages recorded with the handshake that it has kept', async () => {
    const app = await apps.start({
      providers: [ChatGateway],
      configure: (nest) => nest.useWebSocketAdapter(new WsAdapter(nest)),
    });
    const socket = await connect(app);
    socket.send(JSON.stringify({ event: 'say', data: 'hello' }));
    expect(await once(socket, 'message')).toMatchObject([{ data: '{"event":"said","data":"HELLO"}' }]);
    socket.close();
    expect(app.messages).toEqual([
      expect.objectContaining({
        event: 'Said',
        anonymousId: 'a1',
        properties: { text: 'hello', answer: 'HELLO' },
        context: expect.objectContaining({ ip: '127.0.0.1', userAgent: 'chat' }),
      }),
    ]);
  });
});

@Injectable()
class Listener {
  @OnEvent('order.created')
  @Track('Order Noticed', { userId: ({ args: [userId] }) => userId })
  notice(userId: string): string {
    return userId;
  }

  @Track('Report Made', { userId: 'system', timestamp: '2026-01-01', properties: ({ result }) => result })
  @Cron('0 0 1 1 *', { name: 'report' })
  report(): Promise<{ pages: number }> {
    return Promise.resolve({ pages: 3 });
  }
}

describe('a decorated method outside of requests', () => {
  it('is recorded if it listens to events', async () => {
    const app = await apps.start({ imports: [EventEmitterModule.forRoot()], providers: [Listener] });
    await app.get(EventEmitter2).emitAsync('order.created', 'u7');
    expect(app.messages).toEqual([expect.objectContaining({ event: 'Order Noticed', userId: 'u7' })]);
  });

  it('is recorded if it is scheduled', async () => {
    const app = await apps.start({ imports: [ScheduleModule.forRoot()], providers: [Listener] });
    await app.get(SchedulerRegistry).getCronJob('report').fireOnTick();
    expect(app.messages).toEqual([
      expect.objectContaining({
        event: 'Report Made',
        userId: 'system',
        timestamp: '2026-01-01T00:00:00.000Z',
        properties: { pages: 3 },
      }),
    ]);
  });
});
