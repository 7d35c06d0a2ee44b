import { describe, expect, it } from '@jest/globals';
import { isEnabledFor } from '../../src/destinations/destination-selection.js';
import type { Integrations } from '../../src/messages/message.types.js';

describe('isEnabledFor', () => {
  it.each<[rule: string, integrations: Integrations, enabled: boolean]>([
    ['every destination is enabled by default', {}, true],
    ['others do not matter', { Mixpanel: false }, true],
    ['All: true changes nothing', { All: true }, true],
    ['All: false disables', { All: false }, false],
    ['an own true wins over All: false', { All: false, Webhooks: true }, true],
    ['an own options object counts as true', { All: false, Webhooks: { session_id: 1 } }, true],
    ["another's true does not", { All: false, Mixpanel: true }, false],
    ['an own false disables', { Webhooks: false }, false],
    ['an own false wins over All: true', { All: true, Webhooks: false }, false],
    ['names are compared with case', { webhooks: false }, true],
    ['names are compared with case under All: false', { All: false, webhooks: true }, false],
    ['All itself is compared with case', { all: false }, true],
  ])('%s: %j', (_, integrations, enabled) => {
    expect(isEnabledFor(integrations, 'Webhooks')).toBe(enabled);
  });

  it.each<[rule: string, integrations: Integrations, enabled: boolean]>([
    ['an id wins over All', { All: false, 'cust-1': true }, true],
    ['an id wins over the name', { Webhooks: false, 'cust-1': true }, true],
    ['an id speaks of that one alone', { 'cust-2': false }, true],
    ['an id disables', { Webhooks: true, 'cust-1': false }, false],
    ['an options object counts as true', { All: false, 'cust-1': { a: 1 } }, true],
    ['ids are compared with case', { All: false, 'Cust-1': true }, false],
    ['an undefined id leaves it to the name', { All: false, Webhooks: true, 'cust-1': undefined }, true],
  ])('%s: %j', (_, integrations, enabled) => {
    expect(isEnabledFor(integrations, 'Webhooks', 'cust-1')).toBe(enabled);
  });

  it('does not match an id that differs from the name only in its case', () => {
    expect(isEnabledFor({ All: false, webhooks: true }, 'Webhooks', 'webhooks')).toBe(false);
    expect(isEnabledFor({ webhooks: false }, 'Webhooks', 'webhooks')).toBe(true);
    expect(isEnabledFor({ All: false }, 'Webhooks', 'All')).toBe(false);
  });

  it('treats an undefined value as not given', () => {
    expect(isEnabledFor({ Webhooks: undefined }, 'Webhooks')).toBe(true);
    expect(isEnabledFor({ All: false, Webhooks: undefined }, 'Webhooks')).toBe(false);
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'treats %s as the name of a destination, not as an inherited property',
    (name) => {
      expect(isEnabledFor({}, name)).toBe(true);
      expect(isEnabledFor({ All: false }, name)).toBe(false);
      expect(isEnabledFor({ All: false, [name]: true }, name)).toBe(true);
      expect(isEnabledFor({ [name]: false }, name)).toBe(false);
    },
  );

  it('reads own keys only, and ignores flags that an object inherits', () => {
    const inherits: Integrations = {};
    Object.setPrototypeOf(inherits, { All: false, Webhooks: false });
    expect(isEnabledFor(inherits, 'Webhooks')).toBe(true);
  });
});
