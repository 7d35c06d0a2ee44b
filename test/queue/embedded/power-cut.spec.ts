import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { runPowerCuts } from '../../support/power-cuts.js';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue', () => {
  it('has every job that was acknowledged after a power cut at any moment', async () => {
    const cuts = await runPowerCuts(join(await folders.fresh(), 'queue'), 4);
    expect(cuts.flatMap(({ lost }) => lost)).toEqual([]);
    expect(cuts.at(-1)?.acknowledged).toBeGreaterThan(0);
  }, 120_000);
});
