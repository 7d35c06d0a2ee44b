import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InvalidMessageError } from '../../src/errors/message.errors.js';
import { createMessage } from '../../src/messages/create-message.js';
import { serialize } from '../../src/messages/serialize.js';
import type { AnalyticsMessage, JsonObject, MessageType } from '../../src/messages/message.types.js';

const NOW = '2026-11-21T09:30:00.123Z';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Required fields of each type of call, and nothing else. */
const REQUIRED: Record<MessageType, JsonObject> = {
  identify: { userId: 'u1' },
  track: { userId: 'u1', event: 'Item Purchased' },
  page: { userId: 'u1' },
  screen: { userId: 'u1' },
  group: { userId: 'u1', groupId: 'g1' },
  alias: { userId: 'u1', previousId: 'a1' },
  delete: { userId: 'u1' },
};

const TYPES: MessageType[] = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'];
const OF_A_USER: MessageType[] = ['identify', 'track', 'page', 'screen', 'group'];

/** The function as JavaScript sees it, with any argument. */
const javascript: {
  create(type: MessageType, params: unknown, baseContext: JsonObject): AnalyticsMessage;
} = { create: createMessage };

const create = (type: MessageType, params: unknown, baseContext: JsonObject = {}): AnalyticsMessage =>
  javascript.create(type, params, baseContext);

/** Creates a message of a type from its required fields and these fields. */
const createWith = (type: MessageType, fields: JsonObject, baseContext?: JsonObject): AnalyticsMessage =>
  create(type, { ...REQUIRED[type], ...fields }, baseContext);

function refusal(act: () => unknown): InvalidMessageError {
  try {
    act();
  } catch (error) {
    if (error instanceof InvalidMessageError) return error;
    throw error;
  }
  throw new Error('Expected the call to be refused');
}

class Address {
  city = 'London';
  #note = 'hidden';
  get note(): string {
    return this.#note;
  }
}

describe('createMessage', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: new Date(NOW) });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  describe('required fields', () => {
    it.each(TYPES)('takes a %s with its required fields alone, and stamps it', (type) => {
      const message = create(type, REQUIRED[type]);
      expect(message).toMatchObject({
        ...REQUIRED[type],
        type,
        timestamp: NOW,
        context: {},
        integrations: {},
      });
      expect(message.messageId).toMatch(UUID);
    });

    it.each(OF_A_USER)('takes a %s of an anonymous user, and leaves out the userId', (type) => {
      const message = createWith(type, { userId: '', anonymousId: 'a1' });
      expect(message).toMatchObject({ anonymousId: 'a1' });
      expect(JSON.stringify(message)).not.toContain('userId');
    });

    it.each(OF_A_USER.flatMap((type) => [undefined, null, ''].map((absent) => [type, absent] as const)))(
      'refuses a %s whose ids are both %j, and says which to give',
      (type, absent) => {
        const error = refusal(() => createWith(type, { userId: absent, anonymousId: absent }));
        expect(error).toMatchObject({ code: 'INVALID_MESSAGE', field: 'userId' });
        expect(error.message).toContain('`userId` or `anonymousId`');
      },
    );

    it.each<[MessageType, string]>([
      ['track', 'event'],
      ['group', 'groupId'],
      ['alias', 'userId'],
      ['alias', 'previousId'],
      ['delete', 'userId'],
    ])('refuses a %s whose %s is undefined, null or an empty string', (type, field) => {
      for (const [absent, got] of [
        [undefined, 'undefined'],
        [null, 'null'],
        ['', 'an empty string'],
      ]) {
        const error = refusal(() => createWith(type, { [field]: absent }));
        expect(error.field).toBe(field);
        expect(error.message).toBe(`Expected \`${field}\` to be a non-empty string, got ${String(got)}`);
      }
    });

    it.each([' ', '\t\r\n', '\u00a0\u2003', '\u0000\u0007', '\u200b', '\ufeff'])(
      'counts %j as absent, since blanks and control characters are no id',
      (blank) => {
        expect(refusal(() => createWith('track', { userId: blank, anonymousId: blank }))).toMatchObject({
          field: 'userId',
          message: 'Expected `userId` or `anonymousId` to be given, got neither',
        });
        const message = createWith('page', { userId: blank, anonymousId: 'a1', name: blank });
        expect(message).toMatchObject({ userId: undefined, anonymousId: 'a1', name: undefined });
        expect(refusal(() => createWith('track', { event: blank })).message).toBe(
          'Expected `event` to be a non-empty string, got a string of blanks',
        );
      },
    );

    it('keeps the blanks of an id that has other characters, too', () => {
      expect(createWith('identify', { userId: ' u 1\n' })).toMatchObject({ userId: ' u 1\n' });
    });

    it('names the user of a deletion as sent messages do, even if half of a surrogate pair became U+FFFD', () => {
      const { userId } = JSON.parse(
        serialize({ ...createWith('track', { userId: 'u\ud800' }) }).json,
      ) as AnalyticsMessage & { userId: string };
      expect(createWith('delete', { userId: 'u\ud800' })).toMatchObject({ userId });
    });

    it('does not use an anonymousId as the userId of an alias or a delete', () => {
      for (const type of ['alias', 'delete'] as const) {
        expect(refusal(() => createWith(type, { userId: '', anonymousId: 'a1' })).field).toBe('userId');
      }
    });
  });

  describe('strings', () => {
    const strings: [MessageType, string][] = [
      ['identify', 'userId'],
      ['identify', 'anonymousId'],
      ['track', 'userId'],
      ['track', 'event'],
      ['page', 'name'],
      ['page', 'category'],
      ['screen', 'name'],
      ['screen', 'category'],
      ['group', 'groupId'],
      ['alias', 'previousId'],
      ['delete', 'userId'],
    ];

    it.each(strings)('refuses a number as the %s’s %s, and names the type, not the value', (type, field) => {
      const error = refusal(() => createWith(type, { [field]: 4217 }));
      expect(error.field).toBe(field);
      expect(error.message).toBe(`Expected \`${field}\` to be a non-empty string, got a number`);
    });

    it.each<[got: string, value: unknown]>([
      ['a boolean', true],
      ['a bigint', 1n],
      ['a symbol', Symbol('ada')],
      ['a function', () => 'ada'],
      ['an object', { ada: 1 }],
      ['an array', ['ada']],
      ['a Date', new Date(0)],
      ['a boxed primitive', Object('ada')],
    ])('names %s in its error', (got, userId) => {
      expect(refusal(() => createWith('identify', { userId })).message).toBe(
        `Expected \`userId\` to be a non-empty string, got ${got}`,
      );
    });

    it.each(['name', 'category'])('leaves out an empty or null %s of a page', (field) => {
      for (const absent of ['', null, undefined]) {
        expect(JSON.stringify(createWith('page', { [field]: absent }))).not.toContain(field);
      }
    });
  });

  describe('the argument', () => {
    it.each<[got: string, params: unknown]>([
      ['undefined', undefined],
      ['null', null],
      ['an array', [{ userId: 'u1', event: 'x' }]],
      ['a string', 'Item Purchased'],
      ['a Map', new Map([['userId', 'u1']])],
      ['a Promise', Promise.resolve()],
    ])('refuses %s in place of the fields', (got, params) => {
      const error = refusal(() => create('track', params));
      expect(error.message).toBe(`Expected \`track\` to be given one object with its fields, got ${got}`);
    });

    it('takes an instance of a class, including its getters', () => {
      class Purchase {
        readonly userId = 'u1';
        readonly #item = 'Item';
        get event(): string {
          return `${this.#item} Purchased`;
        }
      }
      expect(create('track', new Purchase())).toMatchObject({ userId: 'u1', event: 'Item Purchased' });
    });

    it.each(TYPES)('ignores fields that a %s does not have', (type) => {
      const message = createWith(type, { extra: 'unknown', type: 'track', version: 2, sentAt: NOW });
      expect(message.type).toBe(type);
      for (const field of ['extra', 'version', 'sentAt']) expect(message).not.toHaveProperty(field);
    });
  });

  describe('objects', () => {
    const objects: [MessageType, string][] = [
      ['identify', 'traits'],
      ['group', 'traits'],
      ['track', 'properties'],
      ['page', 'properties'],
      ['page', 'traits'],
      ['screen', 'properties'],
      ['track', 'context'],
      ['alias', 'context'],
      ['track', 'integrations'],
      ['delete', 'integrations'],
    ];
    /** Returns a field of a message. The traits of a page are in its properties. */
    const taken = (message: AnalyticsMessage, field: string): unknown =>
      Object.entries(message).find(
        ([key]) => key === (message.type === 'page' && field === 'traits' ? 'properties' : field),
      )?.[1];

    it.each(objects)('gives a %s empty %s if there are none', (type, field) => {
      expect(taken(createWith(type, { [field]: undefined }), field)).toEqual({});
      expect(taken(createWith(type, { [field]: null }), field)).toEqual({});
    });

    it.each(objects)('takes an object or an instance of a class as the %s’s %s', (type, field) => {
      const bare: unknown = Object.assign(Object.create(null), { a: true });
      expect(taken(createWith(type, { [field]: { a: true } }), field)).toEqual({ a: true });
      expect(taken(createWith(type, { [field]: bare }), field)).toEqual({ a: true });
      if (field === 'integrations') return;
      expect(taken(createWith(type, { [field]: new Address() }), field)).toEqual({ city: 'London' });
    });

    it.each(objects)('refuses anything but an object as the %s’s %s', (type, field) => {
      const boxed: unknown = Object('x');
      for (const [got, value] of [
        ['an array', [1]],
        ['a Date', new Date(0)],
        ['a Map', new Map()],
        ['a Set', new Set()],
        ['a Promise', Promise.resolve({})],
        ['a RegExp', /x/],
        ['a boxed primitive', boxed],
        ['binary data', Buffer.from('x')],
        ['an Error', new TypeError('x')],
        ['a Headers', new Headers()],
        ['a URLSearchParams', new URLSearchParams('a=1')],
        ['a WeakMap', new WeakMap()],
        ['a string', 'x'],
        ['a number', 1],
        ['a boolean', true],
        ['a function', () => ({})],
      ] as const) {
        const error = refusal(() => createWith(type, { [field]: value }));
        expect(error.field).toBe(field);
        expect(error.message).toBe(`Expected \`${field}\` to be an object, got ${got}`);
      }
    });

    it('sends what toJSON returns, and calls toJSON once', () => {
      let calls = 0;
      const basket = {
        secret: 1,
        toJSON(key: string) {
          calls += 1;
          return { key, calls };
        },
      };
      const message = createWith('track', { properties: basket });
      expect(message).toMatchObject({ properties: { key: 'properties', calls: 1 } });
      expect(JSON.stringify(message)).toContain('"properties":{"key":"properties","calls":1}');
      expect(calls).toBe(1);
    });

    it('calls a toJSON that returns its own object only once', () => {
      let calls = 0;
      const own = {
        a: 1,
        toJSON() {
          calls += 1;
          return own;
        },
      };
      expect(JSON.stringify(createWith('track', { properties: own }))).toContain('"properties":{"a":1}');
      expect(calls).toBe(1);
      expect(own).toHaveProperty('toJSON');
    });

    it.each([
      ['a string', new URL('https://example.com/')],
      ['undefined', { toJSON: () => undefined }],
      ['an array', { toJSON: () => [1] }],
    ])('refuses a toJSON that returns %s', (got, properties) => {
      const error = refusal(() => createWith('track', { properties }));
      expect(error.message).toBe(`Expected \`properties\` to be an object after its \`toJSON\`, got ${got}`);
    });

    it('refuses a toJSON or a getter that throws, and keeps the text of the cause out of the error', () => {
      const cause = new Error('ada@example.com');
      const fail = (): never => {
        throw cause;
      };
      for (const context of [
        { toJSON: fail },
        Object.defineProperty({}, 'ip', { get: fail, enumerable: true }),
      ]) {
        const error = refusal(() => createWith('track', { context }));
        expect(error).toMatchObject({ field: 'context', cause });
        expect(error.message).not.toContain('ada');
      }
    });

    it('sends a field named toJSON that is not a function like any other field', () => {
      expect(createWith('track', { properties: { toJSON: 'yes' } })).toMatchObject({
        properties: { toJSON: 'yes' },
      });
    });

    it('copies objects, so that changes to the message do not reach the caller', () => {
      const given = { traits: { plan: 'free' }, context: { ip: '8.8.8.8' }, integrations: { All: true } };
      const base = { app: 'shop' };
      const message = createWith('identify', given, base);
      for (const part of ['traits', 'context', 'integrations'])
        Object.assign(taken(message, part) ?? {}, { x: 1 });
      expect(given).toEqual({
        traits: { plan: 'free' },
        context: { ip: '8.8.8.8' },
        integrations: { All: true },
      });
      expect(base).toEqual({ app: 'shop' });
      expect(createWith('identify', {}, base)).toMatchObject({ context: { app: 'shop' } });
    });

    it.each<[string, unknown]>([
      ['a string', 'false'],
      ['a number', 1],
      ['null', null],
    ])('refuses %s as the flag of a destination', (_, flag) => {
      expect(refusal(() => createWith('track', { integrations: { All: true, Mixpanel: flag } })).field).toBe(
        'integrations',
      );
    });

    it('refuses an options object for all destinations', () => {
      expect(refusal(() => createWith('track', { integrations: { All: {} } })).field).toBe('integrations');
    });

    it('takes booleans and options objects as the flags of destinations', () => {
      const integrations = { All: false, Mixpanel: true, Amplitude: { session_id: 1 } };
      expect(createWith('track', { integrations }).integrations).toEqual(integrations);
    });
  });

  describe('context', () => {
    it('merges the context of the message over the default context, one level deep', () => {
      const base = { ip: '127.0.0.1', app: { name: 'shop', version: '1.0' }, locale: 'en' };
      const context = { ip: '8.8.8.8', app: { name: 'stall' } };
      expect(createWith('track', { context }, base).context).toEqual({
        ip: '8.8.8.8',
        app: { name: 'stall' },
        locale: 'en',
      });
    });

    it('keeps a key named __proto__ as a key', () => {
      const context: unknown = JSON.parse('{"__proto__":{"ip":"8.8.8.8"}}');
      const message = createWith('track', { context }, { app: 'shop' });
      expect(JSON.stringify(message.context)).toBe('{"app":"shop","__proto__":{"ip":"8.8.8.8"}}');
    });

    it('gives a delete no context, whatever was given', () => {
      expect(createWith('delete', { context: 'ignored' }, { app: 'shop' }).context).toEqual({});
    });
  });

  describe('pages', () => {
    it('merges traits into properties, whose own values win', () => {
      const message = createWith('page', {
        traits: { url: 'https://example.com/a', title: 'A', custom: 1 },
        properties: { title: 'B', path: '/b' },
      });
      expect(message).toMatchObject({
        properties: { url: 'https://example.com/a', title: 'B', custom: 1, path: '/b' },
      });
      expect(message).not.toHaveProperty('traits');
    });

    it('ignores the traits of a screen', () => {
      expect(createWith('screen', { traits: { url: 'x' } })).toMatchObject({ properties: {} });
    });
  });

  describe('timestamps', () => {
    it.each<[string, unknown, string]>([
      ['a Date', new Date('2012-12-02T00:30:08.276Z'), '2012-12-02T00:30:08.276Z'],
      ['a string without an offset', '2012-12-02T00:30:08.276999', '2012-12-02T00:30:08.276Z'],
      ['undefined, which is now', undefined, NOW],
      ['null, which is now', null, NOW],
    ])('takes %s', (_, timestamp, expected) => {
      for (const type of TYPES) expect(createWith(type, { timestamp }).timestamp).toBe(expected);
    });

    it.each<unknown>(['', 'yesterday', 1795224532709, new Date(Number.NaN), {}])(
      'refuses %p',
      (timestamp) => {
        expect(refusal(() => createWith('track', { timestamp })).field).toBe('timestamp');
      },
    );
  });

  describe('messageId', () => {
    it.each(['x', 'node-next-1795224532709-d25b3eee', 'a b', '~'.repeat(100)])('takes %j', (messageId) => {
      expect(createWith('track', { messageId }).messageId).toBe(messageId);
    });

    it.each<unknown>([
      '',
      'x'.repeat(101),
      'a\r\nb',
      'a\n',
      'a\0',
      'a\tb',
      'a\x7f',
      'Zoë',
      '🚀',
      ' ',
      ' a',
      'a ',
      7,
      {},
    ])('refuses %j, which cannot be a header or is no id', (messageId) => {
      expect(refusal(() => createWith('track', { messageId })).field).toBe('messageId');
    });

    it('makes a new id for each message if none is given', () => {
      const ids = [undefined, null, undefined].map(
        (messageId) => createWith('track', { messageId }).messageId,
      );
      for (const id of ids) expect(id).toMatch(UUID);
      expect(new Set(ids).size).toBe(3);
    });

    it('gives each delete an id of its own, whatever was given', () => {
      expect(createWith('delete', { messageId: 'mine' }).messageId).toMatch(UUID);
    });
  });
});
