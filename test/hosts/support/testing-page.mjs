import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../../docs/testing.md');
/** The samples of the page on testing, by the folder in which the hosts' runners look for tests. */
const FILES = {
  src: ['orders.service.ts', 'orders.service.spec.ts', 'matchers.spec.ts'],
  test: [
    'orders.service.ts',
    'app.module.ts',
    'orders.e2e-spec.ts',
    'delivery.e2e-spec.ts',
    'receiver.e2e-spec.ts',
  ],
};

function sampleIn(page, name) {
  const [, rest] = page.split(`<!-- test: ${name} -->`);
  const [, code] = /^\s*```ts\n(.*?)^```$/ms.exec(rest ?? '') ?? [];
  if (code === undefined) throw new Error(`docs/testing.md has no sample ${name}`);
  return code;
}

/**
 * Copies the tests that the page shows into an application, as a reader would.
 *
 * @param isVitest whether the tests need the import that the page names for vitest
 * @param without samples that do not suit the application
 */
export async function copyTestingPage(folder, { isVitest = false, without = [] }) {
  const page = await readFile(PAGE, 'utf8');
  const importLine = isVitest ? sampleIn(page, 'vitest import') : '';
  for (const [kind, names] of Object.entries(FILES)) {
    const target = join(folder, kind, 'testing-page');
    await mkdir(target, { recursive: true });
    for (const name of names.filter((one) => !without.includes(one))) {
      const code = sampleIn(page, name);
      await writeFile(join(target, name), name.endsWith('spec.ts') ? importLine + code : code);
    }
  }
}
