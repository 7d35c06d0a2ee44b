import { describe, expect, it } from '@jest/globals';
import { GuardedChild, scriptArguments } from '../support/child-process.js';
import { Stage } from '../support/stage.js';

const CHILD = new URL('./children/last-attempt-without-handles.ts', import.meta.url);
const WITH_FEW_HANDLES = 'ulimit -n 256 && exec "$0" "$@"';

describe('a last attempt that cannot leave the process', () => {
  const stage = new Stage();

  it('is made again, so that the message arrives', async () => {
    const receiver = await stage.receiver();
    const args = [...scriptArguments(CHILD), receiver.url()];
    const child = await GuardedChild.start('/bin/sh', ['-c', WITH_FEW_HANDLES, process.execPath, ...args]);
    expect(await child.waitFor(/ EMFILE$/)).toBe('retry EMFILE');
    expect(await child.waitFor(/ 200$/)).toBe('delivered 200');
    expect(receiver.requests).toHaveLength(1);
    await child.exited;
  });
});
