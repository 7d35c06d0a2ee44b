import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidMessageError, MessageTooLargeError } from '../../src/errors/message.errors.js';
import type { JsonObject } from '../../src/messages/message.types.js';
import { batchBytes, MAX_BATCH_BYTES, MAX_MESSAGE_BYTES, serialize } from '../../src/messages/serialize.js';

/** Returns a body of exactly this many bytes, filled with the character as far as possible. */
function bodyOf(bytes: number, character: string): JsonObject {
  const empty = Buffer.byteLength(JSON.stringify({ text: '' }));
  const width = Buffer.byteLength(character);
  const count = Math.floor((bytes - empty) / width);
  return { text: character.repeat(count) + 'x'.repeat(bytes - empty - count * width) };
}

function errorOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

/** Replaces each lone half of a surrogate pair, as `toWellFormed` of newer engines does. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

describe('serialize', () => {
  it('returns compact JSON and its number of bytes in UTF-8', () => {
    expect(serialize({ name: 'Zoë 🚀', cool: true })).toEqual({
      json: '{"name":"Zoë 🚀","cool":true}',
      bytes: Buffer.byteLength('{"name":"Zoë 🚀","cool":true}'),
    });
  });

  it.each(['x', 'ë', '€', '🚀'])(
    'takes a message of exactly 32,768 bytes, and refuses one more byte (%s)',
    (character) => {
      expect(serialize(bodyOf(32_768, character)).bytes).toBe(32_768);
      const error = errorOf(() => serialize(bodyOf(32_769, character)));
      expect(error).toBeInstanceOf(MessageTooLargeError);
      expect(error).toMatchObject({ bytes: 32_769, limit: 32_768, code: 'MESSAGE_TOO_LARGE' });
    },
  );

  it.each([
    ['in a value', { name: 'a\ud800b' }, '{"name":"a\ufffdb"}'],
    ['a trailing half', { name: 'Zoë\udc00' }, '{"name":"Zoë\ufffd"}'],
    ['in a key', { 'a\ud800': 1 }, '{"a\ufffd":1}'],
    ['in keys that become one', { 'a\ud800': 1, 'a\udfff': 2 }, '{"a\ufffd":2}'],
    [
      'beside text that looks like its escape',
      { a: '\\ud800', b: '\\\ud800' },
      '{"a":"\\\\ud800","b":"\\\\\ufffd"}',
    ],
    ['but not a pair', { name: '🚀' }, '{"name":"🚀"}'],
  ])('sends U+FFFD for a lone surrogate: %s', (_, body, json) => {
    expect(serialize(body)).toEqual({ json, bytes: Buffer.byteLength(json) });
    expect(JSON.stringify(JSON.parse(json))).toBe(json);
  });

  it('writes any text well-formed, and as JSON reads it back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (key, value) => {
        const { json } = serialize({ properties: { [key]: value } });
        expect(JSON.parse(json)).toEqual({ properties: { [wellFormed(key)]: wellFormed(value) } });
        expect(json).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
      }),
    );
  });

  describe('values that JSON would write as `{}`', () => {
    it.each<[string, unknown, unknown]>([
      [
        'a Map, as an object',
        new Map<unknown, unknown>([
          ['a', 1],
          [2, 'b'],
        ]),
        { a: 1, 2: 'b' },
      ],
      ['a Set, as an array', new Set(['a', { b: 1 }]), ['a', { b: 1 }]],
      [
        'an Error, as its name and text',
        new RangeError('too far'),
        { name: 'RangeError', message: 'too far' },
      ],
      ['those within one another', new Map([['tags', new Set([new Map([['a', 1]])])]]), { tags: [{ a: 1 }] }],
      ['an empty object', {}, {}],
      [
        'an instance of a class that has nothing',
        new (class Empty {
          empty = undefined;
        })(),
        {},
      ],
    ])('keeps %s', (_, value, kept) => {
      const { json, bytes } = serialize({ type: 'track', properties: { value, list: [value] }, context: {} });
      expect(JSON.parse(json)).toEqual({
        type: 'track',
        properties: { value: kept, list: [kept] },
        context: {},
      });
      expect(bytes).toBe(Buffer.byteLength(json));
    });

    it('leaves an Error to JSON if it has fields or a toJSON of its own', () => {
      const failure = Object.assign(new Error('ada'), { code: 'ENOENT' });
      expect(serialize({ failure }).json).toBe('{"failure":{"code":"ENOENT"}}');
    });

    it.each<[string, unknown]>([
      ['a Promise', Promise.resolve(1)],
      ['a Headers', new Headers({ authorization: 'ada' })],
      ['a URLSearchParams', new URLSearchParams('ada=1')],
      ['a RegExp', /ada/],
      ['a WeakSet', new WeakSet()],
      ['an ArrayBuffer', new ArrayBuffer(8)],
      [
        'a Generator',
        (function* () {
          yield 1;
        })(),
      ],
      ['a Map with keys that are not text', new Map([[{}, 1]])],
    ])('refuses %s, and names the field and the kind', (kind, value) => {
      for (const properties of [{ value }, { list: [{ value }] }, { a: new Set([value]) }]) {
        expect(errorOf(() => serialize({ type: 'track', properties }))).toMatchObject({
          code: 'INVALID_MESSAGE',
          field: 'properties',
          message: `Expected \`properties\` to be serialisable, but it holds ${kind}, which JSON cannot hold: send what you need of it as text, numbers or plain objects`,
        });
      }
    });
  });

  it('measures bytes, not characters: 20,000 letters of two bytes each are too large', () => {
    expect(() => serialize({ text: 'ë'.repeat(20_000) })).toThrow(MessageTooLargeError);
  });

  it.each<[kind: string, value: () => unknown, text: RegExp]>([
    [
      'a cycle',
      () => {
        const user: JsonObject = { email: 'ada@example.com' };
        user.self = user;
        return user;
      },
      /refers back to itself/,
    ],
    ['a BigInt', () => ({ total: 12345678901234567890n }), /BigInt: send it as a string/],
    [
      'nesting without end',
      () => Array.from({ length: 100_000 }).reduce<JsonObject>((inner) => ({ inner }), {}),
      /nested too deeply/,
    ],
    [
      'a toJSON that throws',
      () => ({
        card: {
          toJSON() {
            throw new Error('no card of ada@example.com');
          },
        },
      }),
      /`toJSON` or a getter in it threw/,
    ],
  ])('refuses %s, names the field and the kind, and keeps the cause', (_, value, text) => {
    const error = errorOf(() => serialize({ type: 'track', properties: value() }));
    expect(error).toBeInstanceOf(InvalidMessageError);
    expect(error).toMatchObject({
      field: 'properties',
      code: 'INVALID_MESSAGE',
      message: expect.stringMatching(text),
    });
    expect(error).toHaveProperty('cause', expect.anything());
    expect(error).toHaveProperty('message', expect.not.stringMatching(/ada|card|1234|total/));
  });

  it('names the whole message if the failure does not occur again', () => {
    let calls = 0;
    const fickle = {
      toJSON() {
        calls += 1;
        if (calls === 1) throw new Error('not yet');
        return {};
      },
    };
    expect(errorOf(() => serialize({ properties: fickle }))).toMatchObject({ field: 'message' });
  });
});

describe('the limits', () => {
  it('are 32 KB for a message and 500 KB for a batch', () => {
    expect([MAX_MESSAGE_BYTES, MAX_BATCH_BYTES]).toEqual([32_768, 512_000]);
  });

  it.each([0, 1, 2, 20])('count the bytes of a batch of %d with its envelope and commas', (count) => {
    const bodies = Array.from({ length: count }, (_, index) => JSON.stringify({ name: `Zoë 🚀 ${index}` }));
    const bodyBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    expect(batchBytes(bodyBytes, count)).toBe(Buffer.byteLength(`{"batch":[${bodies.join(',')}]}`));
  });
});
