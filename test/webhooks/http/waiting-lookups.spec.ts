import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostResolver } from '../../../src/webhooks/http/host-resolver.js';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { deliverOne } from '../../support/deliver-one.js';
import { DnsServer } from '../../support/dns-server.js';
import type { Answer } from '../../support/receiver.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { webhooksDestination } from '../../support/webhooks-destination.js';

/** Number of names that are looked up at once. */
const LOOKUPS = 256;

/** Enough failures for a URL to count as down. */
const MESSAGES = 6;

/** Shorter than a look-up waits for its turn, in milliseconds. */
const TIMEOUT = 1_000;

describe('a receiver whose name waits for other look-ups', () => {
  const stage = new Stage();
  const closing: (() => unknown)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /**
   * Delivers messages to the receiver. Resolves to the outcomes of the messages, and the reports about its URL.
   *
   * @param others milliseconds that the earlier look-ups take
   */
  async function deliver(others: number, answer: Answer): Promise<unknown[]> {
    const receiver = await stage.receiver({ answer: [answer] });
    const dns = await stage.add(
      DnsServer.start(({ name }) => ({
        addresses: ['127.0.0.1'],
        ...(name !== 'hooks.test' && { after: others }),
      })),
    );
    const resolver = new HostResolver({ servers: [dns.address] });
    const lookup = resolver.lookupFor({ allowPrivateNetwork: true });
    const client = new WebhookClient({ connections: MESSAGES, allowPrivateNetwork: true, lookup });
    closing.push(
      () => client.close(),
      () => {
        resolver.close();
      },
    );
    for (let n = 0; n < LOOKUPS; n++) {
      lookup(`other-${n}.test`, { all: true }, () => undefined);
      // If sent all at once, the questions would not fit into the socket of the server.
      if (n % 32 === 31) await until(() => (dns.asked(`other-${n}.test`) < 2 ? undefined : true));
    }

    const said: unknown[] = [];
    const url = `http://hooks.test:${receiver.port}/`;
    const destination = webhooksDestination(
      client,
      [url],
      { timeout: TIMEOUT },
      {
        onOutcome: () => undefined,
        onDown: () => said.push('down'),
        onUp: () => said.push('up'),
      },
    );
    const results = await Promise.all(
      Array.from({ length: MESSAGES }, (_, index) =>
        deliverOne(destination, { id: `m-${index}`, body: '{}', outcomes: [] }),
      ),
    );
    const outcomes = results.flatMap((result) => result?.outcomes ?? []);
    return [...new Set(outcomes.map(({ status, error }) => status ?? error)), ...said];
  }

  it('gets its messages even if the wait is longer than its timeout', async () => {
    expect(await deliver(1_500, 200)).toEqual([200]);
  });

  it('does not count as down if its turn does not come', async () => {
    expect(await deliver(10_000, 200)).toEqual(['DNS_BUSY']);
  });

  it('has the whole timeout from its turn on', async () => {
    const late: Answer = (response) => setTimeout(() => response.end(), 600);
    expect(await deliver(700, late)).toEqual([200]);
  });

  it('counts as down if it does not answer within the timeout', async () => {
    expect(await deliver(700, () => undefined)).toEqual(['TIMEOUT', 'down']);
  });

  it('has no more time than its timeout if one look-up follows another', async () => {
    const dns = await stage.add(DnsServer.start(() => ({ addresses: [], after: 0.8 * TIMEOUT })));
    const systemLookup = (): Promise<never> => new Promise(() => undefined);
    const resolver = new HostResolver({ servers: [dns.address], systemLookup });
    const lookup = resolver.lookupFor({ allowPrivateNetwork: true });
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: true, lookup });
    closing.push(
      () => client.close(),
      () => {
        resolver.close();
      },
    );
    const resultOf = (name: string): Promise<unknown> => {
      const destination = webhooksDestination(client, [`http://${name}/`], { timeout: TIMEOUT });
      return Promise.race([
        deliverOne(destination, { id: 'm', body: '{}', outcomes: [] }),
        sleep(1.5 * TIMEOUT, 'later', { ref: false }),
      ]);
    };
    let result = await resultOf('hooks.test');
    // If this process stands still at that moment, the receiver has more time.
    if (result === 'later') result = await resultOf('other.test');
    expect(result).toMatchObject({ outcomes: [{ error: 'TIMEOUT' }] });
  });
});
