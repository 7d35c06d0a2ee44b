import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/index.js';
import { stringify } from '../../src/messages/serialize.js';
import { RecordedAnalytics } from '../../src/testing/index.js';
import { RecordedMessages } from '../../src/testing/recorded-analytics.js';
import type { RecordedMessage } from '../../src/testing/recorded-message.types.js';

const STAMPS = { messageId: 'm', timestamp: '2026-11-21T09:30:00.000Z', context: {}, integrations: {} };

let messages: RecordedMessages;
let recorded: RecordedAnalytics;

beforeEach(() => {
  messages = new RecordedMessages();
  recorded = new RecordedAnalytics(messages);
  const all: RecordedMessage[] = [
    {
      ...STAMPS,
      type: 'track',
      userId: 'u1',
      event: 'Order Completed',
      properties: {
        total: 9,
        items: [{ sku: 'a', price: 4 }],
        at: '1970-01-01T00:00:00.000Z',
        tags: ['new'],
      },
      source: 'default',
    },
    { ...STAMPS, type: 'identify', userId: 'u1', traits: { plan: 'pro', seats: 3 }, source: 'default' },
  ];
  for (const message of all) messages.add(message);
});

/** Returns the text that the test runner would print. */
function failureOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    // Without the colours of a terminal.
    // eslint-disable-next-line no-control-regex -- they begin with a control character
    return String(error).replace(/\u001b\[\d+m/g, '');
  }
  throw new Error('The expectation holds');
}

describe('toHaveTracked', () => {
  it('passes for an event with some of its properties, compared in depth', () => {
    expect(recorded).toHaveTracked('Order Completed');
    expect(recorded).toHaveTracked('Order Completed', { total: 9 });
    expect(recorded).toHaveTracked('Order Completed', { total: expect.any(Number), items: [{ sku: 'a' }] });
    expect(recorded).not.toHaveTracked('Order Completed', { total: 8 });
    expect(recorded).not.toHaveTracked('Order Completed', { items: [{ sku: 'b' }] });
    expect(recorded).not.toHaveTracked('Order Completed', { coupon: 'X' });
    expect(recorded).not.toHaveTracked('Order Cancelled');
  });

  it('takes properties in the form in which a call is given them', () => {
    expect(recorded).toHaveTracked('Order Completed', { at: new Date(0), tags: new Set(['new']) });
    expect(recorded).not.toHaveTracked('Order Completed', { at: new Date(1) });
  });

  it('treats a field that is `undefined` as a field that is not sent', () => {
    expect(recorded).toHaveTracked('Order Completed', { total: 9, coupon: undefined });
    expect(recorded).toHaveTracked('Order Completed', { items: [{ sku: 'a', note: undefined }] });
    expect(recorded).toHaveTracked('Order Completed', { coupon: undefined });
    expect(recorded).not.toHaveTracked('Order Completed', { total: undefined });
    expect(recorded).not.toHaveTracked('Order Completed', { items: [{ sku: undefined }] });
    expect(recorded).not.toHaveTracked('Order Completed', { total: 8, coupon: undefined });
  });

  it.each<[string, unknown, unknown]>([
    [
      'a `toJSON` that returns a Date',
      { toJSON: () => ({ at: new Date(0) }) },
      { toJSON: () => ({ at: new Date(1) }) },
    ],
    ['an Error', new Error('no paper'), new Error('no ink')],
    ['a Map with a Set', new Map([['a', new Set([1])]]), new Map([['a', new Set([2])]])],
    ['a number that JSON has not', [NaN, -0, undefined], [1, -0, undefined]],
    ['half of a surrogate pair', 'a\ud800', 'b\ud800'],
    ['bytes', Buffer.from('a'), Buffer.from('b')],
  ])('compares %s in the form in which it is sent', (_, given, other) => {
    const properties = JSON.parse(stringify({ given })) as JsonObject;
    messages.add({ ...STAMPS, type: 'track', userId: 'u1', event: 'Given', properties, source: 'default' });
    expect(recorded).toHaveTracked('Given', { given });
    expect(recorded).not.toHaveTracked('Given', { given: other });
  });

  it('leaves matchers as they are, however deep they are nested', () => {
    const items = [expect.objectContaining({ sku: expect.stringMatching(/^a$/) })];
    expect(recorded).toHaveTracked('Order Completed', { items, at: expect.any(String), coupon: undefined });
    expect(recorded).toHaveTracked('Order Completed', { items: expect.arrayContaining(items) });
    expect(recorded).not.toHaveTracked('Order Completed', { coupon: expect.anything() });
  });

  it('shows what was tracked instead', () => {
    expect(
      failureOf(() => {
        expect(recorded).toHaveTracked('Order Completed', { total: 8 });
      }),
    ).toBe(
      [
        'Error: expect(recorded).toHaveTracked(name, fields)',
        '',
        'Expected: "Order Completed" {"total": 8}',
        'Recorded:',
        '  "Order Completed" {"at": "1970-01-01T00:00:00.000Z", "items": [{"price": 4, "sku": "a"}], "tags": ["new"], "total": 9}',
      ].join('\n'),
    );
    messages.clear();
    expect(
      failureOf(() => {
        expect(recorded).toHaveTracked('Order Completed');
      }),
    ).toMatch(/Recorded: none$/);
  });

  it('says that an event should not have been tracked', () => {
    expect(
      failureOf(() => {
        expect(recorded).not.toHaveTracked('Order Completed');
      }),
    ).toMatch(/\.not\.toHaveTracked\(name\)\n\nExpected: not "Order Completed"\nRecorded:\n/);
  });

  it('refuses a value that records nothing', () => {
    expect(() => {
      expect({}).not.toHaveTracked('A');
    }).toThrow(/expected a `RecordedAnalytics`, got an object/);
  });
});

describe('toHaveIdentified', () => {
  it('passes for a user with some of the traits', () => {
    expect(recorded).toHaveIdentified('u1');
    expect(recorded).toHaveIdentified('u1', { plan: 'pro' });
    expect(recorded).not.toHaveIdentified('u1', { plan: 'free' });
    expect(recorded).not.toHaveIdentified('u2');
    expect(
      failureOf(() => {
        expect(recorded).toHaveIdentified('u2');
      }),
    ).toContain('"u1" {"plan": "pro", "seats": 3}');
  });
});
