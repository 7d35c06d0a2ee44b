import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HostResolver } from '../../../src/webhooks/http/host-resolver.js';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { DnsServer } from '../../support/dns-server.js';
import { postWebhook } from '../../support/post-webhook.js';
import { Receiver } from '../../support/receiver.js';

/** The oldest connection that takes another request, and the youngest that may take none, in milliseconds. */
const OLDEST = 60_000;
const YOUNGEST = 45_000;

describe('a receiver that moves to another address while its connections are in use', () => {
  const closing: (() => unknown)[] = [];
  let addresses: string[];
  let client: WebhookClient;
  let before: Receiver;
  let after: Receiver;

  beforeEach(async () => {
    before = await Receiver.start();
    after = await Receiver.start({ host: '127.0.0.2', port: before.port });
    addresses = ['127.0.0.1'];
    const dns = await DnsServer.start(() => ({ addresses, ttl: 1 }));
    const resolver = new HostResolver({ servers: [dns.address] });
    const lookup = resolver.lookupFor({ allowPrivateNetwork: true });
    client = new WebhookClient({ connections: 20, allowPrivateNetwork: true, lookup });
    closing.push(
      () => client.close(),
      () => {
        resolver.close();
      },
      () => dns.close(),
      () => before.close(),
      () => after.close(),
    );
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const close of closing.splice(0)) await close();
  });

  const post = (): ReturnType<typeof postWebhook> =>
    postWebhook(client, `http://moving.test:${before.port}/`);

  /** Sets the clock forward. The timers that end an idle socket do not follow it. */
  function pass(milliseconds: number): void {
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + milliseconds);
  }

  it('gets its requests at the new address a minute later, even if no connection was ever idle', async () => {
    await post();
    addresses = ['127.0.0.2'];
    await post();
    expect([before, after].map(({ requests }) => requests.length)).toEqual([2, 0]);
    pass(OLDEST);
    expect(await post()).toMatchObject({ status: 200 });
    expect([before, after].map(({ requests }) => requests.length)).toEqual([2, 1]);
  });

  it('gets requests that wait for a connection at the new address as well', async () => {
    const single = new WebhookClient({
      connections: 1,
      allowPrivateNetwork: true,
      lookup: (_name, _options, callback) => {
        const found = addresses.map((address) => ({ address, family: 4 }));
        callback(null, found);
      },
    });
    closing.unshift(() => single.close());
    const url = `http://moving.test:${before.port}/`;
    const first = postWebhook(single, url);
    const second = postWebhook(single, url);
    await before.received(1);
    addresses = ['127.0.0.2'];
    pass(OLDEST);
    expect(await Promise.all([first, second])).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect([before, after].map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  it('gets no new connections until some are 45 seconds old, and not all of them at once', async () => {
    const burst = (): Promise<unknown> => Promise.all(Array.from({ length: 20 }, post));
    await burst();
    expect(before.connections).toBe(20);
    pass(YOUNGEST - 1_000);
    await burst();
    expect(before.connections).toBe(20);
    pass((OLDEST - YOUNGEST) / 2);
    await burst();
    expect(before.connections).toBeGreaterThan(20);
    expect(before.connections).toBeLessThan(40);
  });
});
