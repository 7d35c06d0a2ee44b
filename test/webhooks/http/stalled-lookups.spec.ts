import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { HostResolver } from '../../../src/webhooks/http/host-resolver.js';
import { LOOKUP_TIME } from '../../../src/webhooks/http/dns-client.js';

/**
 * A DNS server in a thread of its own. It reports questions about IPv4 addresses, and answers all questions except
 * those about a silent name.
 */
const PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  const socket = require('node:dgram').createSocket('udp4');
  socket.on('message', (query, from) => {
    const isIPv4 = query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
    const isSilent = query.includes('silent');
    if (isIPv4) parentPort.postMessage(isSilent ? 'silent' : 'answered');
    if (isSilent) return;
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    const head = Buffer.from(query.subarray(0, query.indexOf(0, 12) + 5));
    head.writeUInt16BE(0x8180, 2);
    [1, isIPv4 ? 1 : 0, 0, 0].forEach((count, index) => head.writeUInt16BE(count, 4 + 2 * index));
    socket.send(isIPv4 ? Buffer.concat([head, record]) : head, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));`;

describe('a process that stands still while it looks up a name', () => {
  const closing: (() => unknown)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function setUp(): Promise<{ server: Worker; find: (name: string) => Promise<unknown> }> {
    const server = new Worker(PROGRAM, { eval: true });
    const [port] = (await once(server, 'message')) as unknown[];
    const resolver = new HostResolver({ servers: [`127.0.0.1:${String(port)}`] });
    closing.push(
      () => {
        resolver.close();
      },
      () => server.terminate(),
    );
    const lookup = resolver.lookupFor({ allowPrivateNetwork: false });
    const find = (name: string): Promise<unknown> =>
      new Promise((resolve) => {
        lookup(name, {}, (error, address) => {
          resolve(error === null ? address : error.code);
        });
      });
    return { server, find };
  }

  /** Stands still for longer than a look-up may take. */
  function standStill(): void {
    const end = performance.now() + LOOKUP_TIME + 300;
    while (performance.now() < end);
  }

  it('gets the addresses afterwards', async () => {
    const { server, find } = await setUp();
    const found = find('hooks.test');
    await once(server, 'message');
    standStill();
    expect(await found).toBe('127.0.0.1');
  });

  it('gives up on a server that does not answer afterwards either', async () => {
    const { server, find } = await setUp();
    const found = find('silent.test');
    await once(server, 'message');
    standStill();
    expect(await found).toBe('DNS_FAILED');
  });
});
