import { afterAll, describe, expect, it } from '@jest/globals';
import { GuardedChild, scriptArguments } from '../../support/child-process.js';
import { describeWith } from '../../support/describe-backend.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { findBinary } from '../../support/find-binary.js';

const WITHOUT_HANDLES = new URL('./children/without-handles.ts', import.meta.url);
const CRASH_WITHOUT_HANDLES = new URL('./children/crash-without-handles.ts', import.meta.url);
const REFUSED_OPENS = new URL('./children/refused-opens.ts', import.meta.url);
/** Allows few file handles, so that they are soon taken. */
const WITH_FEW_HANDLES = 'ulimit -n 400; exec "$@"';

/** Program that lowers the limit of a running process. Only Linux can do that. */
const PRLIMIT = findBinary('prlimit') ?? '';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

function startWithFewHandles(script: URL, ...args: string[]): Promise<GuardedChild> {
  const command = [process.execPath, ...scriptArguments(script), ...args];
  return GuardedChild.start('/bin/sh', ['-c', WITH_FEW_HANDLES, 'sh', ...command]);
}

describe('the embedded queue in a process without file handles', () => {
  it.each(['disk', 'process'] as const)(
    "creates its files once there are handles, and says what to raise if it cannot be opened, with the durability '%s'",
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

  it('creates a file again that it could not open after creating it, and keeps one that it could open', async () => {
    const child = await startWithFewHandles(REFUSED_OPENS, await folders.fresh());
    expect(await child.waitFor(/^refused/)).toBe('refused: 33, then none');
    expect(await child.waitFor(/^has/)).toBe('has contents after 33');
    await child.exited;
  });
});

describeWith('prlimit', PRLIMIT !== '', 'the embedded queue in a process that loses its file handles', () => {
  it('names the limit if it crashes for want of a handle', async () => {
    const args = [await folders.copiedDataDir(), PRLIMIT];
    const child = await GuardedChild.startScript(CRASH_WITHOUT_HANDLES, args);
    expect(await child.waitFor(/has crashed/)).toMatch(
      /\(the process had no file handle left, EMBEDDED_QUEUE_BROKEN\)\..* restarted\. Raise `ulimit -n` first\. Everything/,
    );
    await child.stop('SIGKILL');
  });
});
