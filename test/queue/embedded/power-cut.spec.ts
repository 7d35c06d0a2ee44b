import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { runPowerCuts } from '../../support/power-cuts.js';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue', () => {
  it('keeps every acknowledged job after a power cut at any moment', async () => {
    const cuts = await runPowerCuts(join(await folders.fresh(), 'queue'), 4);
    expect(cuts.flatMap(({ lost }) => lost)).toEqual([]);
    expect(cuts.at(-1)?.acknowledged).toBeGreaterThan(0);
  }, 120_000);

  it("loses some or all jobs if it does not wait for the disk: `durability: 'process'`", async () => {
    const cuts = runPowerCuts(join(await folders.fresh(), 'queue'), 4, {
      durability: 'process',
      isLast: ({ lost }) => lost.length > 0,
    });
    const lost = cuts.then(
      (all) => all.flatMap((cut) => cut.lost).length,
      // What is left of the database may not even open.
      (error: unknown) => String(error),
    );
    expect(await lost).not.toBe(0);
  }, 120_000);
});
