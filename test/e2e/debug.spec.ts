import { describe, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

describe('DEBUG=analytics', () => {
  const stage = new Stage();

  it('logs the stages of a message: taken, flushed, queued, retried, delivered', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const child = await startApplication(
      {
        connection: await newConnection(),
        webhooks: webhooksTo(receiver, { retryWindow: 20_000, sharedSecret: 'signing-token' }),
        take: ['my-message'],
        flush: true,
        end: 'kill',
      },
      { env: { DEBUG: 'analytics' } },
    );
    const story = [
      await child.waitFor(/analytics taken track my-message from default/),
      await child.waitFor(/analytics flushed 1 messages of default for webhooks/),
      await child.waitFor(/analytics queued 1 messages/),
      await child.waitFor(/analytics retried my-message \(\w+: 503\)/),
      await child.waitFor(/analytics delivered my-message \(\w+: 200\)/),
    ];
    await child.stop('SIGKILL');
    expect(story.join('\n')).not.toMatch(/signing-token|127\.0\.0\.1/);
  });

  it('logs that a message is taken and delivered if its destinations have to be looked up first', async () => {
    const child = await startApplication(
      {
        connection: await newConnection(),
        destinations: { encryptionKey: false },
        webhooks: webhooksTo(await stage.receiver()),
        take: ['my-message'],
        end: 'kill',
      },
      { env: { DEBUG: 'analytics' } },
    );
    await child.waitFor(/analytics taken track my-message from default/);
    await child.waitFor(/analytics delivered my-message \(\w+: 200\)/);
    await child.stop('SIGKILL');
  });

  it('logs that no destination takes a message, even if destinations have to be looked up first', async () => {
    const child = await startApplication(
      {
        connection: await newConnection(),
        destinations: { encryptionKey: false },
        take: ['my-message'],
        end: 'kill',
      },
      { env: { DEBUG: 'analytics' } },
    );
    await child.waitFor(/analytics taken track my-message from default/);
    await child.waitFor(/analytics dropped my-message: no destination takes it/);
    await child.stop('SIGKILL');
  });
});
