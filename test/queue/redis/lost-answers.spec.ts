import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../../support/analytics-app.js';
import { describeRedis } from '../../support/describe-backend.js';
import type { Receiver } from '../../support/receiver.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** Matches nothing of an answer, once it has what this looks for. */
const BEFORE_ONE = /^(?=[^]*:1\r\n)/;

/** Matches the first run of a script, which sends its source. */
const FIRST_CHANGE = /\r\neval\r\n[^]*\["acme","dst_/;
/** Matches later runs, which send the hash of the source. */
const NEXT_CHANGE = /\r\nevalsha\r\n[^]*\["acme","dst_/;

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
});
