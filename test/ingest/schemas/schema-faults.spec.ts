import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  AnalyticsService,
  EventViolationError,
  type OnViolation,
  type StandardSchema,
} from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from '../decorators/support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

/** Returns a schema without a library, which validates properties with this function. */
function schemaOf(validate: (value: never) => unknown): StandardSchema {
  return Object.assign<object, StandardSchema>(
    {},
    { '~standard': { version: 1, vendor: 'test', validate: validate as never } },
  );
}

const UrlShared = schemaOf(({ url }: { url: string }) => ({ value: new URL(url) }));
const Answered = schemaOf(({ slow }: { slow: boolean }) =>
  slow ? Promise.reject(new Error('late')) : { value: {} },
);
const Awaited = schemaOf(() => ({
  then: (_: unknown, reject: (error: unknown) => void) => {
    reject(new Error('late'));
  },
}));
const Nothing = schemaOf(() => undefined);
const Refined = z.object({
  url: z.string().refine((url) => new URL(url).protocol === 'https:'),
});

const events = { UrlShared, Answered, Awaited, Nothing, Refined };

/** Returns the JSON of objects that are nested to this depth. */
function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

function start(onViolation: OnViolation): Promise<DecoratedApp> {
  return apps.start({ analytics: { events, onViolation } });
}

const WRONG: [name: string, event: string, properties: object, text: string][] = [
  [
    'throws for some values',
    'UrlShared',
    { url: 'no secret' },
    'the schema could not check it (it threw TypeError at ',
  ],
  ['is asynchronous for some values', 'Answered', { slow: true }, 'the schema is asynchronous'],
  ['returns a thenable', 'Awaited', {}, 'the schema is asynchronous'],
  ['returns nothing', 'Nothing', {}, 'the schema returned no result'],
  ['throws in a refinement of zod', 'Refined', { url: 'no secret' }, 'the schema '],
];

describe.each(WRONG)('a schema that %s', (_name, event, properties, text) => {
  const track = (app: DecoratedApp): string =>
    app.nest.get(AnalyticsService).track({ userId: 'u1', event, properties });

  it('is logged once as a violation with onViolation warn, and the event is sent', async () => {
    const app = await start('warn');
    track(app);
    track(app);
    expect(app.events).toEqual([event, event]);
    expect(app.logs.about('schema')).toEqual([expect.stringContaining(text)]);
    expect(app.logs.about('secret')).toEqual([]);
  });

  it('has its event dropped and counted with onViolation drop', async () => {
    const app = await start('drop');
    expect(track(app)).toEqual(expect.any(String));
    expect(app.events).toEqual([]);
    await expect(app.nest.get(AnalyticsService).flush()).resolves.toMatchObject({ refused: 1 });
  });

  it('makes the call throw with onViolation throw', async () => {
    const app = await start('throw');
    expect(() => track(app)).toThrow(EventViolationError);
    expect(() => track(app)).not.toThrow(/secret| at /);
  });
});

it('a schema that throws or is asynchronous for some values lets the others pass', async () => {
  const app = await start('throw');
  const analytics = app.nest.get(AnalyticsService);
  analytics.track({ userId: 'u1', event: 'UrlShared', properties: { url: 'https://shop.example' } });
  analytics.track({ userId: 'u1', event: 'Answered', properties: { slow: false } });
  expect(app.events).toEqual(['UrlShared', 'Answered']);
});

describe.each(['warn', 'drop', 'throw'] as const)('the tracking API with onViolation %s', (onViolation) => {
  it('takes the other events of a batch if schemas fail for some, and never answers 500', async () => {
    const imports = { analytics: { events, onViolation }, trackingApi: true };
    const app = await apps.start(imports);
    const batch = [
      ...WRONG.map(([, event, properties]) => ({ type: 'track', userId: 'u1', event, properties })),
      { type: 'track', userId: 'u1', event: 'Fine', properties: {} },
    ];
    const { status, body } = await app.request('/v1/batch', {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('wk_test:').toString('base64')}` },
      body: JSON.stringify({ batch }),
    });
    expect({ status, body }).toMatchObject({ status: 200, body: expect.stringContaining('"success":true') });
    expect(app.events).toContain('Fine');
    expect(app.events).toHaveLength(onViolation === 'warn' ? batch.length : 1);
    expect(body).not.toContain('secret');
    expect(body).not.toContain('.ts:');
    expect(app.logs.about('schema could not check it (it threw TypeError at ')).toHaveLength(1);
  });

  it('refuses properties that are nested too deeply for a schema, and takes the messages beside them', async () => {
    const app = await apps.start({ analytics: { events, onViolation }, trackingApi: true });
    const fine = JSON.stringify({ type: 'track', userId: 'u1', event: 'Fine' });
    const deep = `{"type":"track","userId":"u1","event":"UrlShared","properties":${nested(5_000)}}`;
    const { status, body } = await app.request('/v1/batch', {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('wk_test:').toString('base64')}` },
      body: `{"batch":[${fine},${deep},${fine}]}`,
    });
    expect({ status, body: JSON.parse(body) as unknown }).toEqual({
      status: 200,
      body: {
        success: true,
        refused: [
          {
            index: 1,
            code: 'INVALID_MESSAGE',
            message: 'Expected `properties` to be serialisable, but it is nested too deeply: send less of it',
          },
        ],
      },
    });
    expect(app.events).toEqual(['Fine', 'Fine']);
  });
});

describe('properties that cannot be copied for a schema', () => {
  it.each([
    ['are nested too deeply', JSON.parse(nested(5_000)) as object, /nested too deeply/],
    [
      'have a getter that throws',
      {
        get url(): string {
          throw new TypeError('no secret');
        },
      },
      /a getter in it threw/,
    ],
  ])('are refused in the call if they %s', async (_case, properties, text) => {
    const app = await start('warn');
    const track = (): string =>
      app.nest.get(AnalyticsService).track({ userId: 'u1', event: 'UrlShared', properties: { properties } });
    expect(track).toThrow(
      expect.objectContaining({
        code: 'INVALID_MESSAGE',
        field: 'properties',
        message: expect.stringMatching(text),
      }),
    );
    expect(app.events).toEqual([]);
  });
});

describe('a schema that changes its input', () => {
  class Item {
    constructor(readonly sku: string) {}
  }

  const Greedy = schemaOf(
    (properties: { order: { total?: number; at: Date; items: Item[] }; note?: string }) => {
      expect(properties.order.items[0]).toBeInstanceOf(Item);
      delete properties.note;
      delete properties.order.total;
      properties.order.at.setFullYear(1970);
      properties.order.items.push(new Item('added'));
      Object.assign(properties.order.items[0] ?? {}, { sku: 'changed' });
      return { value: properties };
    },
  );

  it('changes neither what is sent nor the objects of the caller', async () => {
    const app = await apps.start({ analytics: { events: { Greedy }, onViolation: 'throw' } });
    const order = { total: 5, at: new Date('2026-01-02'), items: [new Item('a')], self: {} };
    for (let sent = 0; sent < 2; sent++) {
      app.nest
        .get(AnalyticsService)
        .track({ userId: 'u1', event: 'Greedy', properties: { note: 'n', order } });
    }
    const sent = {
      note: 'n',
      order: { total: 5, at: '2026-01-02T00:00:00.000Z', items: [{ sku: 'a' }], self: {} },
    };
    expect(app.messages.map((message) => message.type === 'track' && message.properties)).toEqual([
      sent,
      sent,
    ]);
    expect(order).toEqual({ total: 5, at: new Date('2026-01-02'), items: [new Item('a')], self: {} });
  });

  it('does not change what is sent of objects that cannot be copied', async () => {
    class Money {
      constructor(public amount: number) {}
      toJSON(): string {
        return `${this.amount} EUR`;
      }
    }
    interface Purchase {
      price: Money;
      page: URL;
      sizes: Map<string, number>;
    }
    const Meddling = schemaOf((properties: Purchase) => {
      properties.price.amount = 0;
      properties.page.pathname = '/changed';
      properties.sizes.clear();
      return { value: properties };
    });
    const app = await apps.start({ analytics: { events: { Meddling }, onViolation: 'throw' } });
    app.nest.get(AnalyticsService).track({
      userId: 'u1',
      event: 'Meddling',
      properties: {
        price: new Money(5),
        page: new URL('https://example.com/shop'),
        sizes: new Map([['m', 1]]),
      },
    });
    expect(app.messages[0]).toMatchObject({
      properties: { price: '5 EUR', page: 'https://example.com/shop', sizes: { m: 1 } },
    });
  });

  it('is given every key that JSON allows, whatever its name', async () => {
    let seen: unknown;
    const Odd = schemaOf((properties: unknown) => ((seen = properties), { value: properties }));
    const app = await apps.start({ analytics: { events: { Odd }, onViolation: 'throw' } });
    const properties = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as object;
    app.nest.get(AnalyticsService).track({ userId: 'u1', event: 'Odd', properties });
    expect(Object.keys(seen as object)).toEqual(['__proto__', 'constructor']);
    expect(Reflect.get(seen as object, 'admin')).toBeUndefined();
  });
});

describe('a violation', () => {
  it('names at most ten fields, without control characters, and says how many more there are', async () => {
    const Lines = z.object({ prices: z.record(z.string(), z.number()) });
    const app = await apps.start({ analytics: { events: { Lines }, onViolation: 'throw' } });
    const wrong = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`line\n${index}`, 'x'.repeat(200)]),
    );
    const track = (prices: object): string =>
      app.nest.get(AnalyticsService).track({ userId: 'u1', event: 'Lines', properties: { prices } });
    expect(() => track(wrong)).toThrow(/`properties\.prices\.line\uFFFD9` and 30 more$/);
    expect(() => track({ ['k'.repeat(5_000)]: 'x' })).toThrow(/^.{1,300}$/);
  });
});
