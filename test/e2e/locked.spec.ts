import { afterAll, describe, expect, it } from '@jest/globals';
import { Module, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule } from '../../src/index.js';
import { startApplication } from '../support/application-child.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

@Module({})
class FailingModule implements OnModuleInit {
  onModuleInit(): void {
    throw new Error('the database is away');
  }
}

describe('an embedded queue', () => {
  const stage = new Stage();
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('is refused at start while another process has it open, and the error names that process', async () => {
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

  it('passes to a new application while the previous one in the process closes, even if nobody awaits that', async () => {
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

  it('passes to the next start in the process once an application that could not start is closed', async () => {
    const options = {
      connection: { embedded: { dataDir: await folders.copiedDataDir() } },
      webhooks: webhooksTo(await stage.receiver()),
    };
    const module = {
      module: FailingModule,
      imports: [AnalyticsModule.forRoot({ writeKey: 'wk_test', ...options })],
    };
    const failed = await NestFactory.create(module, { logger: false, abortOnError: false });
    await expect(failed.init()).rejects.toThrow('the database is away');
    await expect(stage.app(options)).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      message: expect.stringMatching(/If an earlier start in this process has failed, call `app\.close\(\)`/),
    });
    await failed.close();
    await stage.app(options);
  });

  it.each(['SIGUSR2', 'SIGKILL'] as const)(
    'passes to a process that starts while another one shuts down, when that one gets %s',
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
      // `next` finds the folder in use for as long as another application takes to start.
      await stage.app({ ...options, connection: { embedded: { dataDir: await folders.copiedDataDir() } } });
      process.kill(owner.pid, signal);
      await next;
    },
  );
});
