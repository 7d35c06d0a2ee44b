import { afterAll, describe, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

describe('an embedded queue', () => {
  const stage = new Stage();
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('that another process has open is refused at start, and the error says by whom', async () => {
    const options = {
      connection: { embedded: { dataDir: await folders.copiedDataDir() } },
      webhooks: webhooksTo(await stage.receiver()),
    };
    const owner = await startApplication({ ...options, end: 'kill' });
    await owner.waitFor(/^started$/);
    await expect(stage.app(options)).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      pid: owner.pid,
    });
    await owner.stop('SIGKILL');
    await stage.app(options);
  });

  it('goes over to an application that starts while the one before in its process closes, which nobody awaits', async () => {
    const receiver = await stage.receiver();
    const options = {
      connection: { embedded: { dataDir: await folders.copiedDataDir() } },
      webhooks: webhooksTo(receiver),
    };
    const before = await stage.app(options);
    await expect(stage.app(options)).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      pid: process.pid,
    });
    before.analytics.track({ userId: 'u1', event: 'Before' });
    void before.close();
    const after = await stage.app(options);
    after.analytics.track({ userId: 'u1', event: 'After' });
    await receiver.received(2);
    await after.settled();
    expect(eventsIn(receiver.requests).sort()).toEqual(['After', 'Before']);
  });

  it.each(['SIGUSR2', 'SIGKILL'] as const)(
    'goes over to a process that starts while another one shuts down, which then gets %s',
    async (signal) => {
      const options = {
        connection: { embedded: { dataDir: await folders.copiedDataDir() } },
        webhooks: webhooksTo(await stage.receiver()),
      };
      const owner = await startApplication({ ...options, end: 'signal', isHeld: true });
      await owner.waitFor(/^started$/);
      process.kill(owner.pid, 'SIGTERM');
      await owner.waitFor(/^closing$/);
      const next = stage.app(options);
      // As long as another one takes to start, this one finds the folder in use.
      await stage.app({ ...options, connection: { embedded: { dataDir: await folders.copiedDataDir() } } });
      process.kill(owner.pid, signal);
      await next;
    },
  );
});
