import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { type PowerCut, runPowerCuts } from '../support/power-cuts.js';

const CUTS = Number(process.env.POWER_CUTS ?? 200);
/** Each round has a queue of its own. */
const CUTS_OF_ROUND = 25;

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue', () => {
  it(`keeps every acknowledged job in each of ${CUTS} power cuts`, async () => {
    const cuts: PowerCut[] = [];
    while (cuts.length < CUTS) {
      const count = Math.min(CUTS_OF_ROUND, CUTS - cuts.length);
      cuts.push(...(await runPowerCuts(join(await folders.fresh(), 'queue'), count)));
      const jobs = cuts.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
      const lost = cuts.flatMap((cut) => cut.lost);
      process.stdout.write(
        `${cuts.length} of ${CUTS} cuts: ${jobs} times a job was to be there, ${lost.length} times it was not\n`,
      );
      expect(lost).toEqual([]);
    }
  }, 7_200_000);
});
