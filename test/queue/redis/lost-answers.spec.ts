import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../../support/analytics-app.js';
import { describeRedis } from '../../support/describe-backend.js';
import type { Receiver } from '../../support/receiver.js';
import { messageIn } from '../../support/received-message.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** Match nothing of an answer, once it has what they look for. */
const BEFORE_ONE = /^(?=[^]*:1\r\n)/;
const BEFORE_TWO = /^(?=[^]*:2\r\n)/;
const BEFORE_USERS = /^(?=[^]*u[12]\r\n)/;

/** Match the first run of a script, which sends its source. */
const FIRST_CHANGE = /\r\neval\r\n[^]*\["acme","dst_/;
const HISTORY = /\r\neval\r\n[^]*remove_whole/;
/** Match later runs, which send the hash of the source. */
const NEXT_CHANGE = /\r\nevalsha\r\n[^]*\["acme","dst_/;
const LOCK = /\r\nevalsha\r\n[^]*wanted:change\r\n\$36\r\n\S+\r\n\$5\r\n15000\r\n/;
const OFFER_OF_U2 = /\r\nevalsha\r\n[^]*\r\nu2\r\n\$4\r\ntrue\r\n/;
const FIRST_LEAVERS = /\r\nevalsha\r\n[^]*\r\n\$4\r\n1000\r\n\$1\r\n0\r\n/;
/** Matches the change of a job that takes out the message `Again`. */
const WITHOUT_AGAIN = /^(?![^]*Again)[^]*\r\nevalsha\r\n[^]*Other/;

describeRedis('a command that is sent again, since its connection broke before its answer', () => {
  const stage = new Stage();
  let server: RedisServer;
  let proxy: TcpProxy;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    const admin = new Redis(server.url());
    await admin.flushall();
    await admin.script('FLUSH');
    admin.disconnect();
    proxy = await stage.add(TcpProxy.start(server));
    receiver = await stage.receiver();
  });

  function start(options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({ connection: proxy.through(server.url()), webhooks: webhooksTo(receiver), ...options });
  }

  describe('and changes a destination', () => {
    let destinations: DestinationsService;
    let changes: string[];

    beforeEach(async () => {
      const app = await start({
        worker: false,
        destinations: { allowPrivateNetwork: true, encryptionKey: false, limitPerTenant: 1 },
      });
      destinations = app.context.get(DestinationsService);
      changes = [];
      destinations.changes$.subscribe(({ type }) => changes.push(type));
    });

    const add = async (tenant = 'acme'): Promise<string> =>
      (await destinations.create({ tenant, urls: [receiver.url()] })).id;

    it('adds the last one that its tenant may have', async () => {
      await add('other');
      const broken = proxy.breakWithin(NEXT_CHANGE, BEFORE_ONE);
      const id = await add();
      await broken;
      expect((await destinations.list({ tenant: 'acme' })).destinations).toMatchObject([{ id }]);
      expect(changes).toEqual(['created', 'created']);
    });

    it('updates a version of it', async () => {
      const id = await add();
      const broken = proxy.breakWithin(FIRST_CHANGE, BEFORE_ONE);
      const updated = await destinations.update(id, { name: 'New' }, { version: 1 });
      await broken;
      expect(updated).toMatchObject({ name: 'New', version: 2 });
      expect(changes).toEqual(['created', 'updated']);
    });

    it('rotates its secret once', async () => {
      const id = await add();
      const broken = proxy.breakWithin(FIRST_CHANGE, BEFORE_ONE);
      await destinations.rotateSecret(id);
      await broken;
      await destinations.sendTest(id);
      const [test] = await receiver.received(1);
      expect(String(test?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    });

    it('deletes it, and tells only one caller so', async () => {
      const id = await add();
      const broken = proxy.breakWithin(FIRST_CHANGE, BEFORE_ONE);
      const results = await Promise.allSettled([destinations.delete(id), destinations.delete(id)]);
      await broken;
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(changes).toEqual(['created', 'deleted']);
    });
  });

  describe('and changes an audience', () => {
    let audiences: AudiencesService;

    beforeEach(async () => {
      audiences = (await start()).context.get(AudiencesService);
    });

    it('removes all members who left', async () => {
      await audiences.sync('VIP', ['u1', 'u2']);
      const broken = proxy.breakWithin(FIRST_LEAVERS, BEFORE_USERS);
      expect(await audiences.sync('VIP', [])).toEqual({ added: 0, removed: 2, unchanged: 0 });
      await broken;
      await receiver.received(4);
    });

    it('counts all members who stayed', async () => {
      await audiences.sync('VIP', ['u1', 'u2']);
      const broken = proxy.breakWithin(OFFER_OF_U2, BEFORE_TWO);
      expect(await audiences.sync('VIP', ['u1', 'u2'])).toEqual({ added: 0, removed: 0, unchanged: 2 });
      await broken;
    });

    it('takes its lock, although it holds the lock already', async () => {
      await audiences.add('VIP', 'u1');
      const broken = proxy.breakWithin(LOCK, BEFORE_ONE);
      expect(await audiences.add('VIP', 'u2', { wait: 0 })).toBe(true);
      await broken;
    });
  });

  it('takes messages that are replayed out of their job, and counts them', async () => {
    receiver = await stage.receiver({
      answer: (request, index) => {
        if (index >= 2) return 200;
        return messageIn(request).event === 'Again' ? 404 : 410;
      },
    });
    const app = await start();
    for (const event of ['Again', 'Other']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    await app.failedJobs();
    const broken = proxy.breakWithin(WITHOUT_AGAIN, BEFORE_ONE);
    expect(await app.context.get(DeliveriesService).replay({ status: 404 })).toBe(1);
    await broken;
    await receiver.received(3);
  });

  it('records each attempt of a message once', async () => {
    receiver = await stage.receiver({ answer: [404] });
    const app = await start();
    const deliveries = app.context.get(DeliveriesService);
    const broken = proxy.breakWithin(HISTORY, BEFORE_ONE);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await broken;
    const [recent] = await deliveries.recent({ destination: 'webhooks' });
    expect(recent?.attempts).toHaveLength(1);
    const hours = await deliveries.totals();
    expect(hours.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
  });
});
