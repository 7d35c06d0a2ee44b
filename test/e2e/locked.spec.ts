import { afterAll, describe, expect, it } from '@jest/globals';
import { startApplication } from '../support/application-child.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
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
});
