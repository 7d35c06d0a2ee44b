import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AnalyticsModule, type AnalyticsModuleOptions } from '../../src/index.js';
import { resolveOptions } from '../../src/options/resolve-options.js';
import { warnAtStart } from '../../src/options/warn-at-start.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';

const urls = ['https://hooks.example.com/events'];

function warningsOf(given: unknown): string[] {
  const lines: string[] = [];
  warnAtStart(resolveOptions(given, {}), given, { warn: (text) => lines.push(text) });
  return lines;
}

describe('the warnings at start', () => {
  it('name a shared secret that is given but undefined, so that requests are unsigned', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, sharedSecret: undefined } })).toEqual([
      expect.stringMatching(
        /^`webhooks\.sharedSecret` is given but undefined, .* without `X-Signature`\. Check/,
      ),
    ]);
  });

  it('name the destination if there are several, and the kind of secret', () => {
    const webhooks = [
      { id: 'a', urls, sharedSecret: 's' },
      { id: 'b', urls, sharedSecret: 's', standardWebhooks: undefined },
    ];
    expect(warningsOf({ writeKey: 'wk', webhooks })).toEqual([
      expect.stringMatching(/^`webhooks\[1\]\.standardWebhooks` .* without `webhook-signature`\./),
    ]);
  });

  it('name the missing key for the encryption of secrets, unless encryption was decided against', () => {
    const options = { writeKey: 'wk', webhooks: { urls } };
    expect(warningsOf({ ...options, destinations: {} })).toEqual([
      expect.stringMatching(
        /^The secrets of destinations are stored unencrypted, .*`destinations\.encryptionKey`/,
      ),
    ]);
    expect(warningsOf({ ...options, destinations: { encryptionKey: false } })).toEqual([]);
  });

  it('say that messages are dropped if there is no destination', () => {
    expect(warningsOf({ writeKey: 'wk' })).toEqual([
      expect.stringMatching(
        /^No destination is configured, so messages are checked and dropped\. Give .*`destinations`, `customDestinations`/,
      ),
    ]);
    expect(warningsOf({ writeKey: 'wk', enabled: false })).toEqual([]);
  });

  it.each([
    [{ webhooks: { urls, timeout: 5 } }, 'webhooks.timeout', 5],
    [{ webhooks: [{ id: 'a', urls, timeout: 99 }] }, 'webhooks[0].timeout', 99],
    [{ webhooks: { urls, retryWindow: 4 } }, 'webhooks.retryWindow', 4],
    [{ webhooks: { urls, failedRetention: 7 } }, 'webhooks.failedRetention', 7],
    [{ webhooks: { urls }, shutdownTimeout: 10 }, 'shutdownTimeout', 10],
    [{ webhooks: { urls }, unknownJobTimeout: 600 }, 'unknownJobTimeout', 600],
    [{ destinations: { encryptionKey: false, disableAfter: 5 } }, 'destinations.disableAfter', 5],
    [
      { customDestinations: [{ id: 'a', timeout: 30, deliver: () => undefined }] },
      'customDestinations[0].timeout',
      30,
    ],
  ])('name a time that was probably meant in seconds: %j', (given, path, value) => {
    expect(warningsOf({ writeKey: 'wk', ...given })).toEqual([
      `\`${path}\` is ${value} ms; times are in milliseconds. Give ${value}000 if ${value} seconds are meant.`,
    ]);
  });

  it('say nothing about a time that is likely, or about 0 if that has a meaning', () => {
    const none = { retryWindow: 0, failedRetention: 0, timeout: 100 };
    const times = { flushAfter: 0, shutdownTimeout: 0, unknownJobTimeout: 0 };
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, ...none }, ...times })).toEqual([]);
    const few = { retryWindow: 1_000, failedRetention: 1_000 };
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, ...few }, flushAfter: 5 })).toEqual([]);
    const destinations = { encryptionKey: false, disableAfter: Infinity };
    expect(warningsOf({ writeKey: 'wk', destinations })).toEqual([]);
  });

  it('say nothing if the secret is left out or has a value', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([]);
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls, sharedSecret: 'teehee' } })).toEqual([]);
  });
});

describe('an application that starts', () => {
  const newConnection = quickConnections();
  const stage = new Stage();

  it.each([
    ['forRoot', (options: AnalyticsModuleOptions) => AnalyticsModule.forRoot(options)],
    [
      'forRootAsync',
      (options: AnalyticsModuleOptions) => AnalyticsModule.forRootAsync({ useFactory: () => options }),
    ],
  ])('logs these warnings once for the options of %s', async (_, analytics) => {
    const webhooks = Object.assign({ urls }, { sharedSecret: undefined });
    const connection = await newConnection();
    const app = await stage.appWith([analytics({ writeKey: 'wk', connection, webhooks })]);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^warn: `webhooks\.sharedSecret` is given but undefined/),
    ]);
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

  it('says in production what the queue lacks: other processes, and a folder that outlives its container', () => {
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([
      expect.stringMatching(
        /^The queue is the embedded database, .* one process on one machine\. Waiting messages are lost with its folder: .* container without a volume, .* each deploy\. Use/,
      ),
    ]);
  });

  it('says that the webhooks of customers are in that folder, unless they are in a store of the application', () => {
    const options = { writeKey: 'wk', destinations: { encryptionKey: false } };
    expect(warningsOf(options)).toEqual([
      expect.stringContaining(
        'Waiting messages and the webhooks that customers have registered are lost with its folder',
      ),
    ]);
    const store = { findByTenant: () => Promise.resolve([]), findById: () => Promise.resolve(undefined) };
    expect(warningsOf({ ...options, destinations: { encryptionKey: false, store } })).toEqual([
      expect.stringContaining('Waiting messages are lost with its folder'),
    ]);
  });

  it('is not logged if the embedded database was chosen, or outside of production', () => {
    const chosen = { writeKey: 'wk', webhooks: { urls }, connection: { embedded: {} } };
    expect(warningsOf(chosen)).toEqual([]);
    process.env.NODE_ENV = 'development';
    expect(warningsOf({ writeKey: 'wk', webhooks: { urls } })).toEqual([]);
  });
});
