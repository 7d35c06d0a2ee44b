import { afterAll, describe, expect, it } from '@jest/globals';
import { GuardedChild, scriptArguments } from '../../support/child-process.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';

const WITHOUT_HANDLES = new URL('./children/without-handles.ts', import.meta.url);
const REOPENED = new URL('./children/reopened-file.ts', import.meta.url);
const BETWEEN_HANDLES = new URL('./children/few-handles.ts', import.meta.url);
/** Few, so that they are soon taken. */
const WITH_FEW_HANDLES = 'ulimit -n 400; exec "$@"';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue in a process without file handles', () => {
  it.each(['disk', 'process'] as const)(
    "makes its files once there are some, with the durability '%s'",
    async (durability) => {
      const child = await GuardedChild.start('/bin/sh', [
        '-c',
        WITH_FEW_HANDLES,
        'sh',
        process.execPath,
        ...scriptArguments(WITHOUT_HANDLES),
        await folders.copiedDataDir(),
        durability,
      ]);
      expect(await child.waitFor(/^refused/)).toBe('refused 0');
      expect(await child.waitFor(/^works$/)).toBe('works');
      await child.exited;
    },
  );

  it.each(['disk', 'process'] as const)(
    "makes them while other threads take the last handles in between, with the durability '%s'",
    async (durability) => {
      const child = await GuardedChild.start('/bin/sh', [
        '-c',
        WITH_FEW_HANDLES,
        'sh',
        process.execPath,
        ...scriptArguments(BETWEEN_HANDLES),
        await folders.fresh(),
        durability,
      ]);
      expect(await child.waitFor(/^refused/)).toBe('refused 0');
      await child.exited;
    },
  );

  it('keeps a file that it has made and cannot open again', async () => {
    const child = await GuardedChild.start('/bin/sh', [
      '-c',
      WITH_FEW_HANDLES,
      'sh',
      process.execPath,
      ...scriptArguments(REOPENED),
      await folders.fresh(),
    ]);
    expect(await child.waitFor(/^has/)).toMatch(/^has contents after (?!none)/);
    await child.exited;
  });
});
