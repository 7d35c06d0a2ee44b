import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { webhookBody } from '../../../src/webhooks/request/webhook-body.js';
import { createMessage } from '../../../src/messages/create-message.js';
import type { AnalyticsMessage, JsonObject } from '../../../src/messages/message.types.js';
import { serialize } from '../../../src/messages/serialize.js';

const timestamp = '2026-11-21T09:30:00.123Z';
const stamp = { messageId: 'm1', timestamp, context: { ip: '8.8.8.8' } };
const integrations = { All: false, Webhooks: true };

const BODIES: [name: string, message: AnalyticsMessage, json: string][] = [
  [
    'track',
    createMessage(
      'track',
      { ...stamp, integrations, event: 'Sold', properties: { b: 2, a: 1 }, anonymousId: 'a1', userId: 'u1' },
      {},
    ),
    `{"version":1,"type":"track","userId":"u1","anonymousId":"a1","event":"Sold","properties":{"b":2,"a":1},"context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'track of an anonymous user without properties',
    createMessage('track', { messageId: 'm1', timestamp, event: 'Sold', anonymousId: 'a1' }, {}),
    `{"version":1,"type":"track","anonymousId":"a1","event":"Sold","properties":{},"context":{},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'page',
    createMessage(
      'page',
      { ...stamp, userId: 'u1', anonymousId: 'a1', name: 'Home', category: 'Docs', traits: { path: '/' } },
      {},
    ),
    `{"version":1,"type":"page","userId":"u1","anonymousId":"a1","name":"Home","category":"Docs","properties":{"path":"/"},"context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'page without what may be absent',
    createMessage('page', { messageId: 'm1', timestamp, userId: 'u1' }, {}),
    `{"version":1,"type":"page","userId":"u1","properties":{},"context":{},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'screen',
    createMessage(
      'screen',
      { ...stamp, userId: 'u1', anonymousId: 'a1', name: 'Home', category: 'Docs', properties: { tab: 1 } },
      {},
    ),
    `{"version":1,"type":"screen","userId":"u1","anonymousId":"a1","name":"Home","category":"Docs","properties":{"tab":1},"context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'identify',
    createMessage('identify', { ...stamp, userId: 'u1', anonymousId: 'a1', traits: { plan: 'free' } }, {}),
    `{"version":1,"type":"identify","userId":"u1","anonymousId":"a1","traits":{"plan":"free"},"context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'identify without traits',
    createMessage('identify', { messageId: 'm1', timestamp, userId: 'u1' }, {}),
    `{"version":1,"type":"identify","userId":"u1","traits":{},"context":{},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'group',
    createMessage(
      'group',
      { ...stamp, userId: 'u1', anonymousId: 'a1', groupId: 'g1', traits: { plan: 'free' } },
      {},
    ),
    `{"version":1,"type":"group","userId":"u1","anonymousId":"a1","groupId":"g1","traits":{"plan":"free"},"context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'alias',
    createMessage('alias', { ...stamp, userId: 'u1', previousId: 'a1' }, {}),
    `{"version":1,"type":"alias","Previous ID":"a1","User ID":"u1","context":{"ip":"8.8.8.8"},"messageId":"m1","timestamp":"${timestamp}"}`,
  ],
  [
    'delete',
    createMessage('delete', { timestamp, userId: 'u1', integrations }, { app: 'shop' }),
    `{"type":"delete","userId":"u1","timestamp":"${timestamp}"}`,
  ],
];

const ODD_STRINGS = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.integer({ min: 0xd7f0, max: 0xe00f }).map((unit) => String.fromCharCode(unit)) }),
);

const ODD_KEYS = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', 'length', '-0', '01', '4294967295', ''),
  ODD_STRINGS,
);

/** Objects that an application may pass: odd keys in any order, at any depth, and `__proto__` as a key. */
const { object: ODD_OBJECTS } = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.jsonValue(),
    fc.constantFrom(undefined, -0, Number.NaN, Infinity, 5e-324, 1e21, new Date(0), new Map([[1, 2]])),
    ODD_STRINGS,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(ODD_KEYS, tie('value')), { maxLength: 6 })
    .map((entries) => Object.fromEntries(entries)),
}));

const serialized = (message: AnalyticsMessage): string => serialize(webhookBody(message)).json;

const again = (json: string): string => {
  const parsed: unknown = JSON.parse(json);
  return JSON.stringify(parsed);
};

describe('webhookBody', () => {
  it.each(BODIES)('of a %s has exactly these keys in this order', (_, message, json) => {
    expect(serialized(message)).toBe(json);
  });

  it('sends the fields of a class instance', () => {
    class Basket {
      readonly total = 39.95;
      readonly at = new Date(0);
    }
    const message = createMessage('track', { userId: 'u1', event: 'Sold', properties: new Basket() }, {});
    expect(serialized(message)).toContain('"properties":{"total":39.95,"at":"1970-01-01T00:00:00.000Z"}');
  });

  it('is unchanged by parsing and serializing it again, whatever the properties and the context', () => {
    fc.assert(
      fc.property(ODD_OBJECTS, ODD_OBJECTS, ODD_OBJECTS, (properties, context, baseContext) => {
        const json = serialized(
          createMessage('track', { userId: 'u1', event: 'Sold', properties, context }, baseContext),
        );
        expect(again(json)).toBe(json);
      }),
    );
  });

  it('is unchanged by parsing and serializing it again even if the traits and the properties of a page have the same keys', () => {
    fc.assert(
      fc.property(ODD_OBJECTS, ODD_OBJECTS, (traits, properties) => {
        const json = serialized(createMessage('page', { userId: 'u1', traits, properties }, {}));
        expect(again(json)).toBe(json);
      }),
    );
  });

  it('holds every key of the properties as JSON does if their texts are well-formed', () => {
    fc.assert(
      fc.property(ODD_OBJECTS, (properties) => {
        fc.pre(!/\\ud[89a-f]/.test(JSON.stringify(properties)));
        const json = serialized(createMessage('track', { userId: 'u1', event: 'Sold', properties }, {}));
        const kept = JSON.stringify(properties, (_, value: unknown) =>
          value instanceof Map ? (Object.fromEntries(value) as object) : value,
        );
        expect(json).toContain(`"properties":${kept},"context":`);
      }),
    );
  });
});
