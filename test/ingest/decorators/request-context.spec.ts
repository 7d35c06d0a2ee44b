import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  Get,
  Injectable,
  Param,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { EMPTY, lastValueFrom, type Observable, of } from 'rxjs';
import { AnalyticsService, type JsonObject, Track } from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Injectable()
class DeepService {
  constructor(private readonly analytics: AnalyticsService) {}

  async note(event: string, context?: object): Promise<void> {
    await turn();
    this.analytics.track({ event, userId: 'u1', context });
  }

  async pay(): Promise<void> {
    await turn();
    const transaction = { query: () => Promise.resolve() };
    await this.analytics.within(transaction).track({ event: 'Paid', userId: 'u1' });
  }

  @Track('Streamed', { userId: 'u1' })
  stream(): Observable<number> {
    return of(1);
  }
}

@Injectable()
class NotingGuard implements CanActivate {
  constructor(private readonly deep: DeepService) {}

  async canActivate(): Promise<boolean> {
    await this.deep.note('Guarded');
    return true;
  }
}

@Controller()
class ShopController {
  begun: Observable<number> = EMPTY;

  constructor(private readonly deep: DeepService) {}

  @Get('begin')
  @Track('Opened', { userId: 'u1' })
  begin(): void {
    this.begun = this.deep.stream();
  }

  @Get('decorated/:event')
  @Track('Opened', { userId: 'u1' })
  decorated(@Param('event') event: string): Promise<void> {
    return this.deep.note(event);
  }

  @Get('paid')
  @Track('Opened', { userId: 'u1' })
  paid(): Promise<void> {
    return this.deep.pay();
  }

  @Get('plain')
  plain(): Promise<void> {
    return this.deep.note('Noted');
  }

  @Get('explicit')
  @Track('Opened', { userId: 'u1', context: { ip: '203.0.113.1', campaign: 'spring' } })
  explicit(): Promise<void> {
    return this.deep.note('Noted', { locale: 'fr', page: { title: 'Shop' } });
  }

  @Get('absent')
  @Track('Opened', { userId: 'u1' })
  absent(): Promise<void> {
    // A program without types may pass `null`.
    return this.deep.note('Noted', null as unknown as object);
  }

  @Get('file')
  @Track('Opened', { userId: 'u1' })
  file(): StreamableFile {
    return new StreamableFile(Readable.from(this.lines('File')));
  }

  @Get('zipped')
  @Track('Opened', { userId: 'u1' })
  zipped(): StreamableFile {
    return new StreamableFile(Readable.from(this.lines('Zipped')).pipe(new PassThrough()));
  }

  /** Yields more than any stream buffers, so that the body is produced while it is sent. */
  private async *lines(event: string): AsyncGenerator<string> {
    for (let line = 0; line < 40; line++) {
      yield 'x'.repeat(32_768);
      await this.deep.note(`${event} ${line}`);
    }
  }

  @Get('guarded')
  @UseGuards(NotingGuard)
  @Track('Opened', { userId: 'u1' })
  guarded(): void {
    // The call itself is the event.
  }
}

const SHOP = { controllers: [ShopController], providers: [DeepService, NotingGuard] };

const HEADERS = {
  'user-agent': 'Firefox',
  'accept-language': 'de-CH, de;q=0.9, *;q=0.5',
  referer: 'https://shop.example/cart',
};

function contextOf(app: DecoratedApp, event: string): JsonObject {
  const message = app.messages.find((one) => one.type === 'track' && one.event === event);
  if (message === undefined) throw new Error(`${event} was not recorded`);
  const { library, ...context } = message.context;
  expect(library).toMatchObject({ name: 'nestjs-analytics' });
  return context;
}

describe.each(['express', 'fastify'] as const)('a decorated handler on %s', (adapter) => {
  it('gives every message the context of its request, however deep the call is', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    await app.request('/decorated/Noted?from=mail', { headers: HEADERS });
    const context = {
      ip: '127.0.0.1',
      userAgent: 'Firefox',
      locale: 'de-CH',
      page: {
        url: await app.url('/decorated/Noted?from=mail'),
        path: '/decorated/Noted',
        search: '?from=mail',
        referrer: 'https://shop.example/cart',
      },
    };
    expect(contextOf(app, 'Opened')).toEqual(context);
    expect(contextOf(app, 'Noted')).toEqual(context);
  });

  it('gives the messages of a transaction the same context', async () => {
    const outbox = { connection: 'postgres://127.0.0.1/shop' };
    const app = await apps.start({ ...SHOP, adapter, analytics: { outbox } });
    await app.request('/paid', { headers: HEADERS });
    expect(contextOf(app, 'Paid')).toMatchObject({ ip: '127.0.0.1', userAgent: 'Firefox' });
    expect(contextOf(app, 'Paid')).toEqual(contextOf(app, 'Opened'));
  });

  it('does not mix up requests that run at the same time', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    const names = Array.from({ length: 20 }, (_, index) => `E${index}`);
    await Promise.all(names.map((name) => app.request(`/decorated/${name}`)));
    expect(names.map((name) => contextOf(app, name))).toEqual(
      names.map((name) =>
        expect.objectContaining({ page: expect.objectContaining({ path: `/decorated/${name}` }) }),
      ),
    );
  });

  it('gives a stream the context of the request in which it began, wherever the stream completes', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    await app.request('/begin', { headers: HEADERS });
    await lastValueFrom(app.get(ShopController).begun);
    expect(contextOf(app, 'Streamed')).toMatchObject({ ip: '127.0.0.1', userAgent: 'Firefox' });
  });

  it.each(['file', 'zipped'])('keeps the request for a body produced while it is sent: %s', async (path) => {
    const app = await apps.start({ ...SHOP, adapter });
    const { body } = await app.request(`/${path}`, { headers: HEADERS });
    expect(body).toHaveLength(40 * 32_768);
    expect(app.events).toHaveLength(41);
    for (const event of app.events) {
      expect(contextOf(app, event)).toMatchObject({ userAgent: 'Firefox', page: { path: `/${path}` } });
    }
  });

  it('lets the context of a call override that of the request', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    await app.request('/explicit', { headers: HEADERS });
    expect(contextOf(app, 'Opened')).toMatchObject({
      ip: '203.0.113.1',
      campaign: 'spring',
      userAgent: 'Firefox',
    });
    expect(contextOf(app, 'Noted')).toMatchObject({ ip: '127.0.0.1', locale: 'fr', page: { title: 'Shop' } });
  });

  it('treats a call whose context is `null` like a call without a context', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    expect(await app.request('/absent', { headers: HEADERS })).toMatchObject({ status: 200 });
    expect(contextOf(app, 'Noted')).toEqual(contextOf(app, 'Opened'));
  });

  it('lets the context of the request override the default context', async () => {
    const app = await apps.start({
      ...SHOP,
      adapter,
      analytics: { context: { userAgent: 'server', app: { name: 'shop' } } },
    });
    await app.request('/decorated/Noted', { headers: HEADERS });
    expect(contextOf(app, 'Noted')).toMatchObject({ userAgent: 'Firefox', app: { name: 'shop' } });
  });

  it('does not let headers from outside fill a message', async () => {
    const app = await apps.start({ ...SHOP, adapter });
    const long = 'x'.repeat(5_000);
    await app.request(`/decorated/Noted?${long}`, { headers: { 'user-agent': long, referer: long } });
    expect(JSON.stringify(contextOf(app, 'Noted')).length).toBeLessThan(6_000);
  });

  it.each([
    ['quotes', '"'],
    ['letters that take two bytes', 'ä'],
  ])('cuts headers of %s by the bytes that they take in a message', async (_case, character) => {
    const app = await apps.start({ ...SHOP, adapter });
    const long = character.repeat(5_000);
    const headers = { 'user-agent': long, referer: long, 'accept-language': long };
    await app.request('/decorated/Noted', { headers });
    expect(contextOf(app, 'Noted')).toMatchObject({
      userAgent: character.repeat(512),
      locale: character.repeat(512),
      page: { referrer: character.repeat(512) },
    });
  });
});

describe('the address of a request', () => {
  const headers = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-host': 'shop.example' };

  it('is that of the connection if no proxy is trusted', async () => {
    const app = await apps.start({ ...SHOP });
    await app.request('/decorated/Noted', { headers });
    expect(contextOf(app, 'Noted')).toMatchObject({ ip: '127.0.0.1' });
  });

  it('is the one that a trusted proxy names on Express', async () => {
    const express = new ExpressAdapter();
    express.set('trust proxy', true);
    const app = await apps.start({ ...SHOP, adapter: express });
    await app.request('/decorated/Noted', { headers });
    expect(contextOf(app, 'Noted')).toMatchObject({
      ip: '198.51.100.7',
      page: { url: 'http://shop.example/decorated/Noted' },
    });
  });

  it('is the one that a trusted proxy names on Fastify', async () => {
    const app = await apps.start({ ...SHOP, adapter: new FastifyAdapter({ trustProxy: true }) });
    await app.request('/decorated/Noted', { headers });
    expect(contextOf(app, 'Noted')).toMatchObject({
      ip: '198.51.100.7',
      page: { url: 'http://shop.example/decorated/Noted' },
    });
  });
});

describe('the option `requestContext`', () => {
  it.each([
    ['decorated', 'a decorated handler alone', [true, true, false]],
    ['all', 'every handler', [true, true, true]],
    [false, 'no handler', [false, false, false]],
  ] as const)('%s gives the context to %s', async (requestContext, _name, expected) => {
    const app = await apps.start({ ...SHOP, analytics: { requestContext } });
    await app.request('/decorated/Deep');
    await app.request('/plain');
    const known = ['Opened', 'Deep', 'Noted'].map((event) => 'ip' in contextOf(app, event));
    expect(known).toEqual(expected);
  });

  it.each(['decorated', 'all'] as const)('%s gives the context after the guards', async (requestContext) => {
    const app = await apps.start({ ...SHOP, analytics: { requestContext } });
    await app.request('/guarded');
    expect('ip' in contextOf(app, 'Guarded')).toBe(false);
    expect('ip' in contextOf(app, 'Opened')).toBe(true);
  });
});
