import { describe, expect, it } from '@jest/globals';
import { UnknownFields } from '../../src/messages/unknown-fields.js';

function watch(): { unknownFields: UnknownFields; lines: string[] } {
  const lines: string[] = [];
  return { unknownFields: new UnknownFields((text) => lines.push(text)), lines };
}

describe('UnknownFields', () => {
  it('says nothing about fields that a call has, nor about a field without a value', () => {
    const { unknownFields, lines } = watch();
    const common = { context: {}, integrations: {}, timestamp: new Date(), messageId: 'm1' };
    unknownFields.look('track', { userId: 'u', anonymousId: 'a', event: 'E', properties: {}, ...common });
    unknownFields.look('identify', { userId: 'u', anonymousId: 'a', traits: {}, ...common });
    unknownFields.look('page', { userId: 'u', name: 'N', category: 'C', properties: {}, traits: {} });
    unknownFields.look('screen', { userId: 'u', name: 'N', category: 'C', properties: {}, ...common });
    unknownFields.look('group', { userId: 'u', groupId: 'g', traits: {}, ...common });
    unknownFields.look('alias', { userId: 'u', previousId: 'a', ...common });
    unknownFields.look('delete', { userId: 'u', sources: ['web'], integrations: {}, timestamp: '2014' });
    unknownFields.look('track', { userId: 'u', event: 'E', groupId: undefined });
    expect(lines).toEqual([]);
  });

  it('says once for each field and type of call what was probably meant', () => {
    const { unknownFields, lines } = watch();
    for (let n = 0; n < 3; n++) {
      unknownFields.look('track', { userId: 'u', event: 'E', propertys: { a: 1 } });
      unknownFields.look('page', { userId: 'u', propertys: { a: 1 } });
    }
    expect(lines).toEqual([
      '`track()` was given the field "propertys", which is not one of its fields and is not sent. Did you mean `properties`?',
      '`page()` was given the field "propertys", which is not one of its fields and is not sent. Did you mean `properties`?',
    ]);
  });

  it.each([
    ['track', 'groupId', 'It belongs to `group()`. Put it into `properties`, or leave it out.'],
    ['identify', 'email', 'Put it into `traits`, or leave it out.'],
    [
      'alias',
      'traits',
      'It belongs to `identify()`, `page()`, `group()`. Put it into `context`, or leave it out.',
    ],
    ['delete', 'context', 'Its fields are `userId`, `sources`, `integrations`, `timestamp`.'],
  ] as const)('says where a field belongs that %s() does not have: %s', (type, name, hint) => {
    const { unknownFields, lines } = watch();
    unknownFields.look(type, { userId: 'u', [name]: { secret: 'ada' } });
    expect(lines).toEqual([expect.stringContaining(`"${name}"`)]);
    expect(lines[0]).toMatch(new RegExp(`is not sent\\. ${hint.replace(/[()]/g, '\\$&')}`));
    expect(lines[0]).not.toContain('ada');
  });

  it('checks all of the first calls, and some of very many', () => {
    const { unknownFields, lines } = watch();
    for (let n = 0; n < 999; n++) unknownFields.look('track', { userId: 'u', event: 'E' });
    unknownFields.look('track', { userId: 'u', event: 'E', propertys: {} });
    for (let n = 0; n < 16; n++) unknownFields.look('track', { userId: 'u', event: 'E', anonymusId: 'a' });
    expect(lines).toEqual([
      expect.stringContaining('Did you mean `properties`?'),
      expect.stringContaining('Did you mean `anonymousId`?'),
    ]);
  });

  it('logs a bounded number of lines even if the names are data', () => {
    const { unknownFields, lines } = watch();
    for (let n = 0; n < 1_000; n++) unknownFields.look('track', { ['x'.repeat(100)]: 1, [`key ${n}`]: 1 });
    expect(lines).toHaveLength(50);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(250);
  });
});
