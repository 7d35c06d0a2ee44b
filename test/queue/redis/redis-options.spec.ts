import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { AudiencesService, DeliveriesService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeRedis } from '../../support/describe-backend.js';
import type { Receiver } from '../../support/receiver.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

describeRedis('ioredis options that do not suit a queue', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;
  let proxy: TcpProxy;
  let receiver: Receiver;

  beforeEach(async () => {
    server = await RedisServer.create();
    admin = new Redis({ port: server.port });
    proxy = await stage.add(TcpProxy.start(server));
    receiver = await stage.receiver();
  });
  afterEach(async () => {
    admin.disconnect();
    await server.dispose();
  });

  function start(options: {
    commandTimeout?: number;
    autoResendUnfulfilledCommands?: boolean;
    stringNumbers?: boolean;
    enableAutoPipelining?: boolean;
  }): Promise<AnalyticsApp> {
    return stage.app({
      connection: { host: '127.0.0.1', port: proxy.port, ...options },
      webhooks: webhooksTo(receiver),
    });
  }

  /** Resolves to how often a worker has waited for a job in vain. */
  async function vainWaits(): Promise<number> {
    const stats = await admin.info('commandstats');
    return Number(/cmdstat_bzpopmin:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  it('allow delivery after a long idle time: a `commandTimeout` shorter than a worker waits for a job', async () => {
    const app = await start({ commandTimeout: 500 });
    await until(async () => (await vainWaits()) >= 2 || undefined);
    app.analytics.track({ userId: 'u1', event: 'After an idle time' });
    await receiver.received(1);
  });

  it('allow delivery of a message that was being added when a connection broke: `autoResendUnfulfilledCommands: false`', async () => {
    const app = await start({ autoResendUnfulfilledCommands: false });
    server.pause();
    app.analytics.track({ userId: 'u1', event: 'Without an answer' });
    expect(await app.analytics.flush({ timeout: 300 })).toEqual({ queued: 0, refused: 0, pending: 1 });
    proxy.reset();
    server.resume();
    await receiver.received(1);
  });

  it('allow commands to be repeated when a connection breaks after some of the answers: `enableAutoPipelining`', async () => {
    const { queue } = await start({ enableAutoPipelining: true });
    await queue.getFailedCount();
    const broken = proxy.breakWithin(/\bfailed\b[^]*\bcompleted\b/, /^[^]*?\*1\r\n:0\r\n/);
    expect(await Promise.all([queue.getFailedCount(), queue.getCompletedCount()])).toEqual([0, 0]);
    await broken;
  });

  it('allow changes of audiences and counts of messages: `stringNumbers`', async () => {
    const app = await start({ stringNumbers: true });
    const audiences = app.context.get(AudiencesService);
    expect(await audiences.add('Big Spenders', 'u1', { wait: 1_000 })).toBe(true);
    await receiver.received(1);
    await app.settled();
    expect(await app.context.get(DeliveriesService).counts()).toMatchObject({ waiting: 0, failed: 0 });
    expect(app.log.analytics.filter((line) => !line.includes('keeps nothing on disk'))).toEqual([]);
  });
});
