import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type HostLookup,
  HostResolver,
  type HostResolverOptions,
} from '../../../src/webhooks/http/host-resolver.js';
import { HostsFile } from '../../../src/webhooks/http/hosts-file.js';
import { LookupSlots } from '../../../src/webhooks/http/lookup-slots.js';
import { type DnsAnswer, type DnsQuestion, DnsServer } from '../../support/dns-server.js';

const ADDRESS = '192.0.2.7';
const IPV6_ADDRESS = '2001:db8:0:0:0:0:0:7';

describe('the host resolver', () => {
  let folder: string;
  let hostsFile: string;
  let askedSystem: string[];
  const closing: (() => unknown)[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'host-resolver-'));
    hostsFile = join(folder, 'hosts');
    writeFileSync(
      hostsFile,
      '# ours\n127.0.0.1 localhost\n192.0.2.1  db.internal DB # main\n2001:db8::1 db.internal\n',
    );
    askedSystem = [];
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const close of closing.splice(0).reverse()) await close();
    rmSync(folder, { recursive: true });
  });

  async function setUp(
    answer: (question: DnsQuestion) => DnsAnswer,
    options: HostResolverOptions = {},
  ): Promise<{ server: DnsServer; resolver: HostResolver }> {
    const server = await DnsServer.start(answer);
    const resolver = new HostResolver({
      servers: [server.address],
      hostsFile,
      systemLookup: (name) => {
        askedSystem.push(name);
        return Promise.resolve([{ address: '192.0.2.9', family: 4 }]);
      },
      ...options,
    });
    closing.push(
      () => server.close(),
      () => {
        resolver.close();
      },
    );
    return { server, resolver };
  }

  /** Resolves to the addresses of a name, or to the code of the error. */
  function find(
    resolver: HostResolver,
    name: string,
    allowPrivateNetwork = true,
    onLookup?: () => void,
  ): Promise<string[] | string> {
    return new Promise((resolve) => {
      const onFound: Parameters<HostLookup>[2] = (error, found) => {
        if (error !== null) resolve(error.code ?? error.message);
        else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
      };
      resolver.lookupFor({ allowPrivateNetwork })(name, { all: true }, onFound, onLookup);
    });
  }

  /** Resolves once a name that DNS does not know waits for the system look-up. `found` is the result of `find`. */
  function waitForSystem(
    resolver: HostResolver,
    name: string,
  ): Promise<{ found: Promise<string[] | string> }> {
    return new Promise((resolve) => {
      let lookups = 0;
      const found = find(resolver, name, true, () => {
        // The first look-up is by DNS.
        if (++lookups === 2) resolve({ found });
      });
    });
  }

  /** Returns a function that sets the clock of look-ups forward by this many milliseconds. */
  function mockClock(): (milliseconds: number) => void {
    const now = performance.now.bind(performance);
    let passed = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now() + passed);
    return (milliseconds) => (passed += milliseconds);
  }

  it('answers with IPv4 and IPv6 addresses', async () => {
    const { resolver } = await setUp(() => [IPV6_ADDRESS, ADDRESS]);
    expect(await find(resolver, 'hooks.test')).toEqual([ADDRESS, '2001:db8::7']);
  });

  it('answers with one address, or with addresses of one family, on request', async () => {
    const { resolver } = await setUp(() => [ADDRESS, IPV6_ADDRESS]);
    const lookup = resolver.lookupFor({ allowPrivateNetwork: false });
    const one = await new Promise((resolve) => {
      lookup('hooks.test', { family: 6 }, (error, address, family) => {
        resolve([error, address, family]);
      });
    });
    expect(one).toEqual([null, '2001:db8::7', 6]);
  });

  it('asks no server for IP literals, localhost and the names of the hosts file', async () => {
    const { server, resolver } = await setUp(() => 'silent');
    expect(await find(resolver, '192.0.2.3')).toEqual(['192.0.2.3']);
    expect(await find(resolver, 'localhost')).toEqual(['127.0.0.1']);
    expect(await find(resolver, 'app.localhost.')).toEqual(['127.0.0.1', '::1']);
    expect(await find(resolver, 'db.internal')).toEqual(['192.0.2.1', '2001:db8::1']);
    expect(await find(resolver, 'DB')).toEqual(['192.0.2.1']);
    expect([server.questions, askedSystem]).toEqual([[], []]);
  });

  it('works without a hosts file', async () => {
    const { resolver } = await setUp(() => [ADDRESS], { hostsFile: join(folder, 'none') });
    expect(await find(resolver, 'localhost')).toEqual(['127.0.0.1', '::1']);
    expect(await find(resolver, 'hooks.test')).toEqual([ADDRESS]);
  });

  it('reads the hosts file again when it has changed', () => {
    const hosts = new HostsFile(hostsFile, 0);
    expect(hosts.find('new.internal')).toBeUndefined();
    writeFileSync(hostsFile, '192.0.2.2 new.internal\n');
    utimesSync(hostsFile, 1, 1);
    expect(hosts.find('new.internal')).toEqual([{ address: '192.0.2.2', family: 4 }]);
    expect(hosts.find('db.internal')).toBeUndefined();
  });

  it('looks up a name once for all simultaneous callers, and remembers it for its TTL', async () => {
    const { server, resolver } = await setUp(({ name }) => ({
      addresses: [ADDRESS],
      after: 50,
      ttl: name === 'brief.test' ? 0 : 60,
    }));
    const names = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 'brief.test' : 'hooks.test'));
    await Promise.all(names.map((name) => find(resolver, name)));
    await find(resolver, 'brief.test');
    expect([server.asked('brief.test'), server.asked('hooks.test')]).toEqual([2, 2]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await Promise.all([find(resolver, 'brief.test'), find(resolver, 'hooks.test')]);
    expect([server.asked('brief.test'), server.asked('hooks.test')]).toEqual([4, 2]);
  });

  it.each([
    ['of both families', 4_000, 2_300, 4, 4],
    ['of IPv4', 4_000, 0, 8, 0],
    ['of IPv6, and one of IPv4', 1, 2_300, 1, 7],
  ])('keeps eight of thousands of addresses %s, and asks only once', async (_, ipv4, ipv6, kept4, kept6) => {
    const addresses = [
      ...Array.from({ length: ipv4 }, (_, index) => `10.0.${index >> 8}.${index & 255}`),
      ...Array.from({ length: ipv6 }, (_, index) => `2001:db8:0:0:0:0:0:${(index + 1).toString(16)}`),
    ];
    const { server, resolver } = await setUp(() => addresses);
    const found = await find(resolver, 'many.test');
    const asked = server.asked('many.test');
    const families = [found].flat().map((address) => isIP(address));
    const expected = [...Array<number>(kept4).fill(4), ...Array<number>(kept6).fill(6)];
    expect(families).toEqual(expected);
    expect(await find(resolver, 'many.test')).toEqual(found);
    expect(server.asked('many.test')).toBe(asked);
  });

  it('keeps eight of thousands of addresses that the system returns', async () => {
    const many = Array.from({ length: 4_000 }, (_, index) => ({
      address: `10.0.${index >> 8}.${index & 255}`,
      family: 4,
    }));
    const { resolver } = await setUp(() => 'NXDOMAIN', { systemLookup: () => Promise.resolve(many) });
    expect(await find(resolver, 'many.apps')).toHaveLength(8);
  });

  it('remembers for a short time that a name does not resolve', async () => {
    const { server, resolver } = await setUp(() => 'SERVFAIL');
    for (let n = 0; n < 3; n++) expect(await find(resolver, 'hooks.test')).toBe('DNS_FAILED');
    expect(server.asked('hooks.test')).toBeLessThanOrEqual(6);
    const before = server.asked('hooks.test');
    await find(resolver, 'hooks.test');
    expect(server.asked('hooks.test')).toBe(before);
  });

  it('waits long enough for a slow answer, even after many quick answers', async () => {
    const { resolver } = await setUp(({ name }) => ({
      addresses: [ADDRESS],
      ...(name === 'slow.test' && { after: 900 }),
    }));
    for (let n = 0; n < 20; n++) await find(resolver, `quick-${n}.test`);
    expect(await find(resolver, 'slow.test')).toEqual([ADDRESS]);
  });

  it('does not wait for an answer about IPv6 addresses that never comes', async () => {
    const { server, resolver } = await setUp(({ type }) => (type === 'A' ? [ADDRESS] : 'silent'));
    expect(await find(resolver, 'hooks.test')).toEqual([ADDRESS]);
    // A waiting look-up asks again after a second.
    expect(server.asked('hooks.test')).toBe(2);
  });

  it('gives up on a server that does not answer', async () => {
    const { resolver } = await setUp(() => 'silent');
    expect(await find(resolver, 'hooks.test')).toBe('DNS_FAILED');
    expect(askedSystem).toEqual([]);
  });

  it('ends look-ups in progress when it is closed', async () => {
    const { server, resolver } = await setUp(() => 'silent');
    const found = find(resolver, 'hooks.test');
    await new Promise(setImmediate);
    resolver.close();
    expect(await found).toBe('DNS_FAILED');
    // The look-up would ask again after a second, and give up later.
    expect(server.asked('hooks.test')).toBeLessThanOrEqual(2);
  });

  describe('for a name that DNS does not know', () => {
    it.each<[string, string, DnsAnswer]>([
      ['a name of a search domain', 'hooks.apps', 'NXDOMAIN'],
      ['a name without addresses', 'hooks.apps', []],
      ['the name of a container', 'receiver', 'NXDOMAIN'],
      ['the name of a container, which the server refuses', 'receiver', 'REFUSED'],
    ])('asks the system for a private receiver: %s', async (_, name, answer) => {
      const { resolver } = await setUp(() => answer);
      expect(await find(resolver, name)).toEqual(['192.0.2.9']);
      expect(askedSystem).toEqual([name]);
    });

    it('does not ask the system for a public receiver, or if the DNS server fails', async () => {
      const { resolver } = await setUp(({ name }) => (name === 'hooks.test' ? 'SERVFAIL' : 'NXDOMAIN'));
      expect(await find(resolver, 'nowhere.test', false)).toBe('DNS_FAILED');
      expect(await find(resolver, 'hooks.test', true)).toBe('DNS_FAILED');
      expect(askedSystem).toEqual([]);
    });

    it('asks the system for any receiver if no DNS server can be reached', async () => {
      const { server, resolver } = await setUp(() => []);
      await server.close();
      closing.shift();
      expect(await find(resolver, 'hooks.test', false)).toEqual(['192.0.2.9']);
    });

    it('asks the system for one name at a time, and rejects a name whose turn does not come', async () => {
      const asked: string[] = [];
      let answer: (addresses: LookupAddress[]) => void = () => undefined;
      const { resolver } = await setUp(() => 'NXDOMAIN', {
        systemLookup: (name) => {
          asked.push(name);
          return new Promise((resolve) => (answer = resolve));
        },
      });
      const first = find(resolver, 'one.apps');
      const second = find(resolver, 'two.apps');
      expect(await second).toBe('DNS_BUSY');
      expect(asked).toEqual(['one.apps']);
      answer([{ address: ADDRESS, family: 4 }]);
      expect(await first).toEqual([ADDRESS]);
      const third = find(resolver, 'two.apps');
      await new Promise((resolve) => setTimeout(resolve, 50));
      answer([{ address: ADDRESS, family: 4 }]);
      expect(await third).toEqual([ADDRESS]);
    });

    describe('and that the system answers slowly', () => {
      /** The system answers at once for all names except those that start with "dead" or "slow". */
      async function setUpSlow(
        takes: number,
        isWaitedFor: boolean,
      ): Promise<{ resolver: HostResolver; pass: (milliseconds: number) => void }> {
        const pass = mockClock();
        const { resolver } = await setUp(() => 'NXDOMAIN', {
          systemLookup: async (name) => {
            askedSystem.push(name);
            const isDead = name.startsWith('dead');
            if (isDead || name.startsWith('slow')) {
              if (isWaitedFor) await waitForSystem(resolver, `quick-${askedSystem.length}.apps`);
              pass(takes);
            }
            if (isDead) throw new Error('not found');
            return [{ address: ADDRESS, family: 4 }];
          },
        });
        return { resolver, pass };
      }

      it('asks the system again only after three times the duration of its last answer if others wait for the system', async () => {
        const { resolver, pass } = await setUpSlow(10_000, true);
        const findSlow = async (): Promise<unknown[]> => {
          const found: unknown[] = [];
          for (const name of ['dead-1.apps', 'dead-2.apps', 'slow.apps'])
            found.push(await find(resolver, name));
          return found;
        };
        expect(await findSlow()).toEqual(['DNS_FAILED', 'DNS_FAILED', [ADDRESS]]);
        // An answer of the system is cached for ten seconds.
        pass(10_100);
        askedSystem = [];
        expect(await findSlow()).toEqual(['DNS_FAILED', 'DNS_FAILED', 'DNS_BUSY']);
        expect(askedSystem).toEqual([]);
        expect(await find(resolver, 'good.apps')).toEqual([ADDRESS]);
        pass(20_000);
        askedSystem = [];
        expect(await findSlow()).toEqual(['DNS_FAILED', 'DNS_FAILED', 'DNS_BUSY']);
        expect(askedSystem).toEqual(['dead-1.apps', 'quick-1.apps']);
        expect(await find(resolver, 'other.apps')).toEqual([ADDRESS]);
      });

      it('asks again at once if nothing else waits for the system', async () => {
        const { resolver, pass } = await setUpSlow(2_000, false);
        for (let n = 0; n < 3; n++) {
          expect(await find(resolver, 'slow.apps')).toEqual([ADDRESS]);
          expect(await find(resolver, 'dead.apps')).toBe('DNS_FAILED');
          pass(10_100);
        }
        expect(askedSystem.filter((name) => name === 'slow.apps')).toHaveLength(3);
        expect(askedSystem.filter((name) => name === 'dead.apps')).toHaveLength(3);
      });

      it('asks again after at most a minute, even if the process stood still for an hour', async () => {
        const { resolver, pass } = await setUpSlow(3_600_000, true);
        expect(await find(resolver, 'slow.apps')).toEqual([ADDRESS]);
        pass(50_000);
        expect(await find(resolver, 'slow.apps')).toBe('DNS_BUSY');
        pass(10_100);
        expect(await find(resolver, 'slow.apps')).toEqual([ADDRESS]);
      });

      it('does not ask again at once either if the last answer came when nobody waited for it any more', async () => {
        const pass = mockClock();
        let answer: (addresses: LookupAddress[]) => void = () => undefined;
        const { resolver } = await setUp(() => 'NXDOMAIN', {
          systemLookup: (name) => {
            askedSystem.push(name);
            if (askedSystem.length > 1) return Promise.resolve([{ address: ADDRESS, family: 4 }]);
            return new Promise((resolve) => (answer = resolve));
          },
        });
        expect(await find(resolver, 'dead.apps')).toBe('DNS_FAILED');
        // A failure is remembered for two seconds.
        pass(2_100);
        const quick = await waitForSystem(resolver, 'quick.apps');
        const again = await waitForSystem(resolver, 'dead.apps');
        answer([{ address: ADDRESS, family: 4 }]);
        expect([await quick.found, await again.found]).toEqual([[ADDRESS], 'DNS_FAILED']);
        expect(askedSystem).toEqual(['dead.apps', 'quick.apps']);
      });
    });
  });

  it('leaves the threads of the process to the application, however many names hang', async () => {
    const { resolver } = await setUp(({ name }) => (name.startsWith('silent') ? 'silent' : [ADDRESS]));
    let ended = 0;
    const hanging = Array.from({ length: 100 }, async (_, index) => {
      const found = await find(resolver, `silent-${index}.test`);
      ended++;
      return found;
    });
    for (let n = 0; n < 10; n++) {
      expect(await find(resolver, `healthy-${n}.test`)).toEqual([ADDRESS]);
      await new Promise<void>((resolve, reject) => {
        systemLookup('localhost', (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      });
    }
    // None of these look-ups had to wait for the hanging ones.
    expect(ended).toBe(0);
    resolver.close();
    expect(new Set(await Promise.all(hanging))).toEqual(new Set(['DNS_FAILED']));
  });

  it('keeps half of all look-ups free of names that took long before', async () => {
    const { resolver } = await setUp(({ name }) => (name.startsWith('silent') ? 'silent' : [ADDRESS]));
    const findAll = (): Promise<unknown>[] =>
      Array.from({ length: 256 }, (_, index) => find(resolver, `silent-${index}.test`));
    expect(new Set(await Promise.all(findAll()))).toEqual(new Set(['DNS_FAILED']));
    // A failure is remembered for two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    let ended = 0;
    const again = findAll().map((found) => found.finally(() => ended++));
    for (let n = 0; n < 10; n++) expect(await find(resolver, `healthy-${n}.test`)).toEqual([ADDRESS]);
    expect(ended).toBe(0);
    const found = await Promise.all(again);
    expect(found.filter((code) => code === 'DNS_BUSY')).toHaveLength(128);
  });

  it('lets waiting look-ups begin in turn when one has ended', async () => {
    const slots = new LookupSlots(2, 5_000);
    const order: number[] = [];
    const works = [0, 1, 2, 3].map((index) =>
      slots.run(async () => {
        order.push(index);
        await Promise.resolve();
        if (index === 0) throw new Error('failed');
      }),
    );
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(order).toEqual([0, 1, 2, 3]);
  });
});
