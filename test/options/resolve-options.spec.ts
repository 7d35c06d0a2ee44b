import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConnectionOptions } from 'bullmq';
import { Cluster, Redis } from 'ioredis';
import pg from 'pg';
import { resolveOptions } from '../../src/options/resolve-options.js';

const environment = process.env.NODE_ENV;

beforeEach(() => {
  process.env.NODE_ENV = 'production';
});
afterEach(() => {
  process.env.NODE_ENV = environment;
});

describe('the options', () => {
  it('have their defaults if they are left out', () => {
    expect(
      resolveOptions(
        { writeKey: 'wk', webhooks: { urls: ['https://hooks.example.com/events'] } },
        { worker: true },
      ),
    ).toMatchObject({
      sources: [{ name: 'default', writeKey: 'wk', enabled: true }],
      webhooks: [
        {
          id: 'webhooks',
          headers: {},
          sharedSecret: undefined,
          enabled: true,
          sources: ['default'],
          timeout: 5_000,
          retryWindow: 4 * 3_600_000,
          retryStatuses: ['5xx', 408, 425, 429],
          failedRetention: 7 * 24 * 3_600_000,
          failedLimit: 1_000_000,
          backlogLimit: 1_000_000,
          allowPrivateNetwork: false,
        },
      ],
      connection: { kind: 'embedded', dataDir: '.analytics', durability: 'disk' },
      flushAt: 20,
      flushAfter: 5_000,
      maxBufferedBytes: 64 * 1024 * 1024,
      concurrency: 16,
      connections: 64,
      shutdownTimeout: 10_000,
      unknownJobTimeout: 600_000,
      context: {},
      beforeSend: undefined,
      enabled: true,
    });
  });
});

describe('the connection', () => {
  it.each([
    ['redis://localhost:6379/1', 'redis'],
    ['rediss://localhost', 'redis'],
    ['postgres://localhost/db', 'postgres'],
    ['postgres://shop:p%23ssw%25rd@[::1]:5432/db', 'postgres'],
    ['postgres://shop:pass word@localhost/my db', 'postgres'],
    ['postgres://shop:100%@localhost/shop', 'postgres'],
    ['postgres://shop@localhost/shop@work', 'postgres'],
    ['postgres://localhost/shop?user=shop@work', 'postgres'],
    ['postgres://localhost/shop@work', 'postgres'],
    ['redis://:p%23ss@localhost', 'redis'],
    ['postgres://shop@/db?host=/var/run/postgresql', 'postgres'],
    ['postgresql://shop@%2Fvar%2Frun%2Fpostgresql/db', 'postgres'],
    ['postgresql://localhost/db', 'postgres'],
  ])('%s is of the kind %s', (connection, kind) => {
    expect(connectionOf(connection)).toEqual({ kind, [kind]: connection });
  });

  it('is recognized by its value: options or a client of ioredis, a pg Pool, or a folder', async () => {
    const options = { host: 'localhost', port: 6379 };
    const client = new Redis({ lazyConnect: true });
    const pool = new pg.Pool();
    expect(connectionOf(options)).toEqual({ kind: 'redis', redis: options });
    expect(connectionOf(client)).toMatchObject({ kind: 'redis' });
    expect(connectionOf(pool)).toMatchObject({ kind: 'postgres' });
    expect(connectionOf({ embedded: { dataDir: './data' } })).toEqual({
      kind: 'embedded',
      dataDir: './data',
      durability: 'disk',
    });
    expect(connectionOf({ embedded: { durability: 'process' } })).toMatchObject({ durability: 'process' });
    expect(connectionOf({ embedded: {} })).toEqual({
      kind: 'embedded',
      dataDir: '.analytics',
      durability: 'disk',
    });
    client.disconnect();
    await pool.end();
  });

  it('is an embedded database that keeps nothing in tests, unless a folder is given', () => {
    process.env.NODE_ENV = 'test';
    expect(connectionOf(undefined)).toMatchObject({ kind: 'embedded', dataDir: 'memory://' });
    expect(connectionOf({ embedded: {} })).toMatchObject({ kind: 'embedded', dataDir: 'memory://' });
    expect(connectionOf({ embedded: { dataDir: './data' } })).toMatchObject({ dataDir: './data' });
  });

  it('is that of the host application if none is given, and its own otherwise', () => {
    const hostConnection = { host: 'host.example' };
    expect(connectionOf(undefined, hostConnection)).toEqual({ kind: 'redis', redis: hostConnection });
    expect(connectionOf('postgres://localhost/db', hostConnection)).toMatchObject({ kind: 'postgres' });
  });

  it('is a Redis Cluster if the nodes of one or a client of one are given', () => {
    const nodes = [{ host: '127.0.0.1', port: 1 }, 'redis://127.0.0.1:2', '127.0.0.1:3', 4];
    const redisOptions = { password: 'secret' };
    expect(connectionOf({ cluster: nodes, redisOptions })).toEqual({
      kind: 'cluster',
      nodes,
      options: { redisOptions },
    });
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true, redisOptions });
    expect(connectionOf(undefined, cluster)).toMatchObject({
      kind: 'cluster',
      nodes: [{ host: '127.0.0.1', port: 1 }],
      options: { redisOptions },
    });
    cluster.disconnect();
  });

  it.each([
    ['bull', 'bull'],
    ['{Shop}', 'shop'],
    ['web--shop', 'web--shop'],
    ['{Web Shop}', 'web-shop-b70964666a'],
    ['acme:orders', 'acme-orders-7c01a39b34'],
    ['::', '71546855d6'],
    ['', undefined],
    [undefined, undefined],
  ])('takes its prefix from that of the host application: %s', (hostPrefix, prefix) => {
    const context = { worker: true, hostConnection: { host: 'host.example' }, hostPrefix };
    expect(resolveOptions(WITH_WEBHOOKS, context).prefix).toBe(prefix);
    expect(resolveOptions({ ...WITH_WEBHOOKS, prefix: 'own' }, context).prefix).toBe('own');
    const connection = 'redis://localhost';
    expect(resolveOptions({ ...WITH_WEBHOOKS, connection }, context).prefix).toBeUndefined();
  });

  it.each([
    ['differ only after 40 characters', `${'a'.repeat(40)}-orders`, `${'a'.repeat(40)}-billing`],
    ['have no letter of a to z', 'магазин', '商店'],
    ['differ in punctuation', 'web shop', 'web:shop'],
  ])('has different prefixes for two host applications whose own prefixes %s', (_, one, other) => {
    const prefixes = [one, other, one].map((hostPrefix) => {
      const context = { worker: true, hostConnection: { host: 'host.example' }, hostPrefix };
      return resolveOptions(WITH_WEBHOOKS, context).prefix ?? '';
    });
    expect(new Set(prefixes).size).toBe(2);
    for (const prefix of prefixes)
      expect(resolveOptions({ ...WITH_WEBHOOKS, prefix }, { worker: true }).prefix).toBe(prefix);
  });

  it('is divided into eight partitions on a Redis Cluster, and into one elsewhere, by default', () => {
    const partitionsOf = (connection: unknown, partitions?: number): number =>
      resolveOptions({ ...WITH_WEBHOOKS, connection, partitions }, { worker: true }).partitions;
    const cluster = { cluster: [{ host: '127.0.0.1', port: 1 }] };
    expect(partitionsOf(cluster)).toBe(8);
    expect(partitionsOf(cluster, 12)).toBe(12);
    expect(partitionsOf('redis://localhost')).toBe(1);
    expect(partitionsOf('redis://localhost', 3)).toBe(3);
    expect(partitionsOf('postgres://localhost/db')).toBe(1);
  });
});

const WITH_WEBHOOKS = { writeKey: 'wk', webhooks: { urls: ['https://hooks.example.com/events'] } };

function connectionOf(connection: unknown, hostConnection?: ConnectionOptions): unknown {
  const options = { ...WITH_WEBHOOKS, connection };
  return resolveOptions(options, { worker: true, hostConnection }).connection;
}
