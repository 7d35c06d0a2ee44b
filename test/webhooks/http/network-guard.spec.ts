import { afterEach, describe, expect, it } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import { urlProblems } from '../../../src/options/webhook-url.js';
import { WebhookClient } from '../../../src/webhooks/http/webhook-client.js';
import { webhookErrorCode } from '../../../src/webhooks/http/webhook-error-code.js';
import { postWebhook } from '../../support/post-webhook.js';
import { Receiver } from '../../support/receiver.js';

/** A client whose names resolve to these lists of addresses in order, and then always to the last list. */
function clientResolving(answers: LookupAddress[][], allowPrivateNetwork: boolean): WebhookClient {
  const remaining = [...answers];
  return new WebhookClient({
    connections: 1,
    allowPrivateNetwork,
    lookup: (_hostname, _options, callback) => {
      const answer = remaining.length > 1 ? remaining.shift() : remaining[0];
      process.nextTick(callback, null, answer ?? []);
    },
  });
}

async function post(
  client: WebhookClient,
  url: string,
  signal = new AbortController().signal,
): Promise<number | string> {
  const response = await postWebhook(client, url, { signal });
  if (response === undefined) return 'aborted';
  return response.error === undefined ? response.status : webhookErrorCode(response.error);
}

const LOOPBACK = { address: '127.0.0.1', family: 4 };
const PUBLIC = { address: '8.8.8.8', family: 4 };

/** Hosts as they may be written in a URL. A URL parser reads all of them as literal addresses. */
const PRIVATE_HOSTS = {
  loopback: ['127.0.0.1', '127.255.255.254', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0X7F.0.0.1',
    '0x7f.0x0.0x0.0x1', '017700000001', '0177.1', '0177.0.0.01', '127.0.0.1.', '0x7f.1.', '%31%32%37.0.0.1',
    '１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]'],
  unspecified: ['0', '0.0.0.0', '0x0', '00000000', '0.0.0.1', '[::]'],
  private: ['10.0.0.1', '10.1', '167772161', '012.1', '0xa.1', '172.16.0.1', '172.31.255.254', '192.168.0.1', '192.168.257',
    '3232235521', '0xc0a80001', '192.168.0.1.'],
  'link-local': ['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '[fe80::1]'],
  'unique-local or site-local': ['[fc00::1]', '[fd00:ec2::254]', '[fec0::1]'],
  'of a carrier': ['100.64.0.1', '100.100.100.200', '1684300900'],
  'for benchmarks and documentation': ['198.18.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '[2001:2::1]', '[2001:db8::1]',
    '[3fff::1]'],
  'multicast or reserved': ['224.0.0.1', '240.0.0.1', '255.255.255.255', '4294967295', '0xffffffff', '192.0.0.1', '[ff02::1]',
    '[100::1]', '[5f00::1]'],
  'of a cloud platform': ['168.63.129.16', '2822734096', '0xa83f8110', '[::ffff:168.63.129.16]', '[64:ff9b::a83f:8110]',
    '[2002:a83f:8110::]'],
  'an IPv6 form of a private IPv4 address': ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:10.0.0.1]', '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::a00:1]', '[64:ff9b:1::1]', '[2002:7f00:1::]',
    '[2002:c0a8:1::1]', '[2001:0:7f00:1::1]'],
}; // prettier-ignore

describe('a client without `allowPrivateNetwork`', () => {
  const closing: (() => Promise<void>)[] = [];

  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()));
  });

  async function setUp(
    answers: LookupAddress[][],
    allowPrivateNetwork = false,
  ): Promise<{ client: WebhookClient; receiver: Receiver }> {
    const client = clientResolving(answers, allowPrivateNetwork);
    const receiver = await Receiver.start();
    closing.push(() => client.close(), () => receiver.close()); // prettier-ignore
    return { client, receiver };
  }

  describe.each(Object.entries(PRIVATE_HOSTS))('refuses hosts in a URL that are %s:', (_, hosts) => {
    it.each(hosts)('%s, at start and without a connection', async (host) => {
      const { client, receiver } = await setUp([[]]);
      for (const url of [`http://${host}:${receiver.port}/`, `https://${host}:${receiver.port}/`]) {
        expect(urlProblems([url], { allowPrivateNetwork: false })).toHaveLength(1);
        expect(await post(client, url)).toBe('ADDRESS_REFUSED');
      }
      expect(receiver.connections).toBe(0);
    });
  });

  it.each([
    ['a private address', [LOOPBACK]],
    ['a private address beside a public one', [PUBLIC, LOOPBACK]],
    ['a private address in IPv6 form', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['no address', []],
  ])('refuses a name that resolves to %s, without a connection', async (_, answer) => {
    const { client, receiver } = await setUp([answer]);
    expect(await post(client, `http://rebind.test:${receiver.port}/`)).toBe('ADDRESS_REFUSED');
    expect(receiver.connections).toBe(0);
  });

  it('checks a name again at the next connection if it was public at first', async () => {
    const controller = new AbortController();
    const asked: string[] = [];
    const client = new WebhookClient({
      connections: 1,
      allowPrivateNetwork: false,
      lookup: (hostname, _options, callback) => {
        asked.push(hostname);
        // Aborted before the first answer is used, so that nothing leaves this machine.
        controller.abort();
        callback(null, asked.length === 1 ? [PUBLIC] : [LOOPBACK]);
      },
    });
    const receiver = await Receiver.start();
    closing.push(() => client.close(), () => receiver.close()); // prettier-ignore
    const url = `http://rebind.test:${receiver.port}/`;
    expect(await post(client, url, controller.signal)).toBe('aborted');
    expect(await post(client, url)).toBe('ADDRESS_REFUSED');
    expect(asked).toHaveLength(2);
    expect(receiver.connections).toBe(0);
  });

  it('refuses the real resolver’s answer for localhost as well', async () => {
    const client = new WebhookClient({ connections: 1, allowPrivateNetwork: false });
    closing.push(() => client.close());
    expect(await post(client, 'http://localhost:9/')).toBe('ADDRESS_REFUSED');
  });

  it('would deliver to the same receivers if the option were set', async () => {
    const { client, receiver } = await setUp([[LOOPBACK]], true);
    expect(await post(client, `http://rebind.test:${receiver.port}/`)).toBe(200);
    expect(await post(client, receiver.url())).toBe(200);
  });
});
