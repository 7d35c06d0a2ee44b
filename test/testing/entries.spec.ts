import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';

const SOURCE = new URL('../../src/', import.meta.url);
/** Matches the imports that are left when types are compiled away. */
const IMPORT = /^(?:import|export) (?!type\b)[^;]*?'(\.[^']+)\.js';/gm;
/** Folders of the parts that an application may do without: HTTP APIs, the console, a worker. */
const LOADED_LATER = /^(console|delivery|destinations-api|http|ingest\/http)\//;

/** Resolves to the files that an entry of the package loads, as paths in `src`. */
async function loadedBy(entry: string): Promise<string[]> {
  const files = [new URL(entry, SOURCE).href];
  for (const file of files) {
    const text = await readFile(new URL(file), 'utf8');
    for (const [, path = ''] of text.matchAll(IMPORT)) {
      const loaded = new URL(`${path}.ts`, file).href;
      if (!files.includes(loaded)) files.push(loaded);
    }
  }
  return files.map((file) => file.slice(SOURCE.href.length));
}

describe('the package', () => {
  it('loads no code that is only for tests, unless a test imports it', async () => {
    const main = await loadedBy('index.ts');
    expect(main).toContain('client/client-core.ts');
    expect(main.filter((file) => file.includes('testing'))).toEqual([]);
    expect(await loadedBy('testing/index.ts')).toContain('testing/recording-core.ts');
  });

  it('loads the code of an optional part only once that part is configured', async () => {
    const main = await loadedBy('index.ts');
    expect(main.filter((file) => LOADED_LATER.test(file)).sort()).toEqual([
      'console/console.providers.ts',
      'console/console.service.ts',
      'delivery/delivery-worker.ts',
      'delivery/delivery.providers.ts',
      'delivery/handed-out-jobs.ts',
      'delivery/job-outcome.errors.ts',
      'destinations-api/destinations-api.providers.ts',
      'http/mount-handler.ts',
    ]);
    expect(main.filter((file) => /\/stores\/(?!create-)/.test(file))).toEqual([]);
    expect(main).not.toContain('webhooks/http/undici.ts');
    expect(main).not.toContain('options/resolve-options.ts');
  });
});
