import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { runPowerCuts } from '../support/power-cuts.js';

const ROUNDS = 8;
const CUTS = 25;

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue', () => {
  it('has every job that was acknowledged after each of 200 power cuts', async () => {
    let kept = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const cuts = await runPowerCuts(join(await folders.fresh(), 'queue'), CUTS);
      expect(cuts.filter(({ lost }) => lost.length > 0)).toEqual([]);
      kept += cuts.length;
    }
    expect(kept).toBe(ROUNDS * CUTS);
  }, 3_600_000);
});
