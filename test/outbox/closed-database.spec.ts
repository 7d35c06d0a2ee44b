import { PGlite } from '@electric-sql/pglite';
import { afterAll, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { AnalyticsModule } from '../../src/index.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { Stage, webhooksTo } from '../support/stage.js';

const stage = new Stage();
const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

it('an application that closes its database in its own shutdown hook still closes its queue', async () => {
  const database = await PGlite.create('memory://');
  const close = { onApplicationShutdown: () => database.close() };
  @Module({ providers: [{ provide: 'DATABASE', useValue: close }] })
  class ShopModule {}
  const receiver = await stage.receiver();
  const options = {
    writeKey: 'wk_test',
    connection: { embedded: { dataDir: await folders.copiedDataDir() } },
    webhooks: webhooksTo(receiver),
  };
  const app = await stage.appWith([
    ShopModule,
    AnalyticsModule.forRoot({ ...options, outbox: { connection: database, migrate: true } }),
  ]);
  await database.transaction(async (tx) => {
    await app.analytics.within(tx).track({ userId: 'u1', event: 'Ordered' });
  });
  await receiver.received(1);
  await app.close();
  // If the queue were still open, its folder would be locked.
  await expect(stage.app(options)).resolves.toBeDefined();
});
