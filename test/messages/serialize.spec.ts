import { describe, expect, it } from '@jest/globals';
import { InvalidMessageError } from '../../src/errors/invalid-message.error.js';
import { MessageTooLargeError } from '../../src/errors/message-too-large.error.js';
import type { JsonObject } from '../../src/messages/message.types.js';
import { serialize } from '../../src/messages/serialize.js';

/** A body of exactly this many bytes, filled up with a character of so many bytes. */
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

describe('serialize', () => {
  it('gives compact JSON and its bytes in UTF-8', () => {
    expect(serialize({ name: 'Zoë 🚀', cool: true })).toEqual({
      json: '{"name":"Zoë 🚀","cool":true}',
      bytes: Buffer.byteLength('{"name":"Zoë 🚀","cool":true}'),
    });
  });

  it.each(['x', 'ë', '€', '🚀'])(
    'takes a message of exactly 32,768 bytes and none of one more (%s)',
    (character) => {
      expect(serialize(bodyOf(32_768, character)).bytes).toBe(32_768);
      const error = errorOf(() => serialize(bodyOf(32_769, character)));
      expect(error).toBeInstanceOf(MessageTooLargeError);
      expect(error).toMatchObject({ bytes: 32_769, limit: 32_768, code: 'MESSAGE_TOO_LARGE' });
    },
  );

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

  it('names the whole message where the failure does not show again', () => {
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
