import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { warnAtStart } from '../../src/options/warn-at-start.js';

const urls = ['https://hooks.example.com/events'];

function warningsOf(given: unknown): string[] {
  const lines: string[] = [];
  warnAtStart(resolveOptions(given, {}), given, { warn: (text) => lines.push(text) });
  return lines;
}

describe('the warnings at start', () => {
  it('name a shared secret that is given and undefined: requests are unsigned', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, sharedSecret: undefined } })).toEqual([
      expect.stringMatching(
        /^`webhooks\.sharedSecret` is given and is undefined, .* without `X-Signature`\. Check/,
      ),
    ]);
  });

  it('name the destination, of several, and the other kind of secret', () => {
    const webhooks = [
      { id: 'a', urls, sharedSecret: 's' },
      { id: 'b', urls, sharedSecret: 's', standardWebhooks: undefined },
    ];
    expect(warningsOf({ writeKey: 'wk', webhooks })).toEqual([
      expect.stringMatching(/^`webhooks\[1\]\.standardWebhooks` .* without `webhook-signature`\./),
    ]);
  });

  it('say nothing where the key is left out, or has a value', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([]);
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, sharedSecret: 'teehee' } })).toEqual([]);
  });
});

describe('the warning about an embedded queue that nobody chose', () => {
  const { NODE_ENV } = process.env;

  beforeEach(() => {
    process.env.NODE_ENV = 'production';
  });
  afterEach(() => {
    process.env.NODE_ENV = NODE_ENV;
  });

  it('says in production what it lacks: other processes, and a copy on another disk', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([
      expect.stringMatching(
        /^The queue is the embedded database, .* one process on one machine, and what waits is lost with its disk; give/,
      ),
    ]);
  });

  it('is not written where the embedded database was chosen, or outside of production', () => {
    const chosen = { writeKey: 'wk', webhooks: { urls }, connection: { embedded: {} } };
    expect(warningsOf(chosen)).toEqual([]);
    process.env.NODE_ENV = 'development';
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([]);
  });
});
