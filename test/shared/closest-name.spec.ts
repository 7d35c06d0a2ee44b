import { describe, expect, it } from '@jest/globals';
import { closestName } from '../../src/shared/closest-name.js';

const KNOWN = ['properties', 'traits', 'userId', 'urls', 'webhooks'];

describe('closestName', () => {
  it.each([
    ['propertys', 'properties'],
    ['Properties', 'properties'],
    ['user_id', 'userId'],
    ['trait', 'traits'],
    ['url', 'urls'],
    ['webhook', 'webhooks'],
    ['wehbooks', 'webhooks'],
  ])('corrects %s to %s', (name, expected) => {
    expect(closestName(name, KNOWN)).toBe(expected);
  });

  it.each(['groupId', 'email', 'on', '', 'x'.repeat(1_000)])('finds no similar name for %j', (name) => {
    expect(closestName(name, KNOWN)).toBeUndefined();
  });
});
