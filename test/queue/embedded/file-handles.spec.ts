import { afterAll, describe, expect, it } from '@jest/globals';
import { GuardedChild, scriptArguments } from '../../support/child-process.js';
import { describeWith } from '../../support/describe-backend.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { findBinary } from '../../support/find-binary.js';

const WITHOUT_HANDLES = new URL('./children/without-handles.ts', import.meta.url);
const CRASH_WITHOUT_HANDLES = new URL('./children/crash-without-handles.ts', import.meta.url);
const REFUSED_OPENS = new URL('./children/refused-opens.ts', import.meta.url);
/** Few, so that they are soon taken. */
const WITH_FEW_HANDLES = 'ulimit -n 400; exec "$@"';

/** Lowers the limit of a process that runs, which Linux alone can. */
const PRLIMIT = findBinary('prlimit') ?? '';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

function startWithFewHandles(script: URL, ...args: string[]): Promise<GuardedChild> {
  const command = [process.execPath, ...scriptArguments(script), ...args];
  return GuardedChild.start('/bin/sh', ['-c', WITH_FEW_HANDLES, 'sh', ...command]);
}

describe('the embedded queue in a process without file handles', () => {
  it.each(['disk', 'process'] as const)(
    "makes its files once there are some, and says what to raise where it cannot be opened, with the durability '%s'",
    async (durability) => {
      const child = await startWithFewHandles(WITHOUT_HANDLES, await folders.copiedDataDir(), durability);
      expect(await child.waitFor(/^refused/)).toBe('refused 0');
      expect(await child.waitFor(/^works$/)).toBe('works');
      for (const place of ['of-another', 'memory://'])
        expect(await child.waitFor(/^Error|OpenError/)).toMatch(
          new RegExp(
            `${place} cannot be opened \\(EMFILE: .*\\)\\. Raise the limit of open files \\(\`ulimit -n\`\\)`,
          ),
        );
      await child.exited;
    },
  );

  it('makes a file again that it has made and could not open, and keeps one that it could', async () => {
    const child = await startWithFewHandles(REFUSED_OPENS, await folders.fresh());
    expect(await child.waitFor(/^refused/)).toBe('refused: 33, then none');
    expect(await child.waitFor(/^has/)).toBe('has contents after 33');
    await child.exited;
  });
});

describeWith('prlimit', PRLIMIT !== '', 'the embedded queue in a process that loses its file handles', () => {
  it('names the limit where it crashes for want of one', async () => {
    const args = [await folders.copiedDataDir(), PRLIMIT];
    const child = await GuardedChild.startScript(CRASH_WITHOUT_HANDLES, args);
    expect(await child.waitFor(/has crashed/)).toMatch(
      /\(the process had no file handle left, EMBEDDED_QUEUE_BROKEN\)\..* restarted\. Raise `ulimit -n` first\. Everything/,
    );
    await child.stop('SIGKILL');
  });
});
