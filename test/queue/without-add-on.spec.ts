import { afterAll, describe, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { describeServers } from '../support/describe-backend.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

const HOOKS = new URL('../support/without-add-on-hooks.mjs', import.meta.url).href;
/** As on a platform for which `fs-native-extensions` has no build. */
const PLATFORM = { env: { NODE_OPTIONS: `--import ${HOOKS}` } };

describeServers('an application that cannot load the add-on of the embedded queue', (backend) => {
  const stage = new Stage();

  it('delivers with its queue on a server', async () => {
    const receiver = await stage.receiver();
    const child = await startApplication(
      {
        connection: backend.connection,
        webhooks: webhooksTo(receiver),
        take: ['m1'],
        flush: true,
        end: 'kill',
      },
      PLATFORM,
    );
    await child.waitFor(/^queued$/);
    await receiver.received(1);
    await child.stop('SIGKILL');
    expect(eventsIn(receiver.requests)).toEqual(['Taken']);
  });
});

describe('an embedded queue whose add-on cannot be loaded', () => {
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('is refused at start', async () => {
    const webhooks = { urls: ['https://hooks.example.com/'] };
    const connection = { embedded: { dataDir: await folders.fresh() } };
    const child = await startApplication({ connection, webhooks, end: 'kill' }, PLATFORM);
    await child.waitFor(/EMBEDDED_QUEUE_PLATFORM|does not run on/);
    await child.exited;
  });
});
