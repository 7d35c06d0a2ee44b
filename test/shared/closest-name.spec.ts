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
  ])('takes %s for %s', (name, expected) => {
    expect(closestName(name, KNOWN)).toBe(expected);
  });

  it.each(['groupId', 'email', 'on', '', 'x'.repeat(1_000)])('takes %j for none', (name) => {
    expect(closestName(name, KNOWN)).toBeUndefined();
  });
});
