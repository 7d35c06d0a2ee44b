import { afterAll, expect, it } from '@jest/globals';
import { type ApplicationPlan, startApplication } from '../support/application-child.js';
import { describeServers } from '../support/describe-backend.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

const HOOKS = new URL('../support/without-add-on-hooks.mjs', import.meta.url).href;
/** As on a platform for which `fs-native-extensions` has no build. */
const PLATFORM = { env: { NODE_OPTIONS: `--import ${HOOKS}` } };

describeServers('an application where the add-on of the embedded queue cannot be loaded', (backend) => {
  const stage = new Stage();
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('delivers with its queue on a server, and is refused the embedded one alone', async () => {
    const receiver = await stage.receiver();
    const plan: Omit<ApplicationPlan, 'connection'> = {
      webhooks: webhooksTo(receiver),
      take: ['m1'],
      flush: true,
      end: 'kill',
    };
    const child = await startApplication({ ...plan, connection: backend.connection }, PLATFORM);
    await child.waitFor(/^queued$/);
    await receiver.received(1);
    await child.stop('SIGKILL');
    expect(eventsIn(receiver.requests)).toEqual(['Taken']);

    const connection = { embedded: { dataDir: await folders.fresh() } };
    const refused = await startApplication({ ...plan, connection }, PLATFORM);
    await refused.waitFor(/EMBEDDED_QUEUE_PLATFORM|does not run on/);
    await refused.exited;
  });
});
