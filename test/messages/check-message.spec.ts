import { describe, expect, it } from '@jest/globals';
import { InvalidMessageError } from '../../src/errors/message.errors.js';
import { checkMessage } from '../../src/messages/check-message.js';
import { createMessage } from '../../src/messages/create-message.js';
import type { AnalyticsMessage, JsonObject } from '../../src/messages/message.types.js';

const identity = { userId: 'u1', anonymousId: 'a1' };
const common = { context: { ip: '8.8.8.8' }, integrations: { All: false, Webhooks: true } };

const MESSAGES: AnalyticsMessage[] = [
  createMessage('identify', { ...identity, ...common, traits: { plan: 'free' } }, {}),
  createMessage('track', { ...identity, ...common, event: 'Item Purchased', properties: { a: 1 } }, {}),
  createMessage('page', { ...identity, ...common, name: 'Home', category: 'Docs', properties: { a: 1 } }, {}),
  createMessage('screen', { ...identity, ...common, name: 'Home', properties: { a: 1 } }, {}),
  createMessage('group', { ...identity, ...common, groupId: 'g1', traits: { plan: 'free' } }, {}),
  createMessage('alias', { ...common, userId: 'u1', previousId: 'a1' }, {}),
  createMessage('delete', { userId: 'u1', integrations: { All: true } }, {}),
];

const TRACK: JsonObject = { ...createMessage('track', { userId: 'u1', event: 'Item Purchased' }, {}) };

function refusedField(value: unknown): string {
  try {
    checkMessage(value);
  } catch (error) {
    if (error instanceof InvalidMessageError) return error.field;
    throw error;
  }
  throw new Error('Expected the message to be refused');
}

describe('checkMessage', () => {
  it.each(MESSAGES.map((message) => [message.type, message] as const))(
    'returns a %s as createMessage made it',
    (_, message) => {
      expect(JSON.stringify(checkMessage(message))).toBe(JSON.stringify(message));
    },
  );

  it('normalises a timestamp that was changed', () => {
    expect(checkMessage({ ...TRACK, timestamp: new Date(0) }).timestamp).toBe('1970-01-01T00:00:00.000Z');
    expect(checkMessage({ ...TRACK, timestamp: '1970-01-01' }).timestamp).toBe('1970-01-01T00:00:00.000Z');
  });

  it('takes another type if the fields of that type are there', () => {
    expect(checkMessage({ ...TRACK, type: 'identify' })).toMatchObject({ type: 'identify', traits: {} });
  });

  it('leaves out fields that the type does not have', () => {
    expect(checkMessage({ ...TRACK, password: 'x' })).not.toHaveProperty('password');
  });

  it('uses empty objects in place of removed ones', () => {
    const bare = { ...TRACK, context: undefined, integrations: undefined, properties: undefined };
    expect(checkMessage(bare)).toMatchObject({ context: {}, integrations: {}, properties: {} });
  });

  it.each<[string, JsonObject, field: string]>([
    ['no type', { type: undefined }, 'type'],
    ['a type that is unknown', { type: 'purchase' }, 'type'],
    ['a type that every object inherits', { type: 'constructor' }, 'type'],
    ['a type in other case', { type: 'Track' }, 'type'],
    ['no messageId', { messageId: undefined }, 'messageId'],
    ['a messageId that cannot be a header', { messageId: 'a\nb' }, 'messageId'],
    ['no timestamp', { timestamp: undefined }, 'timestamp'],
    ['a timestamp that is none', { timestamp: 'now' }, 'timestamp'],
    ['no id of a user', { userId: undefined }, 'userId'],
    ['a number as the userId', { userId: 1 }, 'userId'],
    ['no event', { event: '' }, 'event'],
    ['properties that are no object', { properties: [] }, 'properties'],
    ['a context that is no object', { context: 'x' }, 'context'],
    ['integrations that are no flags', { integrations: { Webhooks: 'false' } }, 'integrations'],
  ])('refuses %s', (_, change, field) => {
    expect(refusedField({ ...TRACK, ...change })).toBe(field);
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['an array', [TRACK]],
    ['a string', 'track'],
    ['a Promise', Promise.resolve(TRACK)],
  ])('refuses %s in place of a message', (_, value) => {
    expect(refusedField(value)).toBe('message');
  });

  it('lists the known types in its error', () => {
    expect(() => checkMessage({ ...TRACK, type: 'purchase' })).toThrow(
      'Expected `type` to be one of identify, track, page, screen, group, alias, delete',
    );
  });
});
