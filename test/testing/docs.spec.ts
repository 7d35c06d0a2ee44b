import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Snippets of each page that are files of one application. */
const FILES = {
  'testing.md': [
    'orders.service.ts',
    'orders.service.spec.ts',
    'app.module.ts',
    'orders.e2e-spec.ts',
    'matchers.spec.ts',
    'delivery.e2e-spec.ts',
    'timers.e2e-spec.ts',
    'receiver.e2e-spec.ts',
  ],
  'getting-started.md': ['shop.module.ts', 'shop.module.spec.ts', 'webhooks.controller.ts'],
};
const CONFIG = {
  testEnvironment: 'node',
  testRegex: 'spec\\.ts$',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testTimeout: 60_000,
};
/** Raises the timeouts, since a busy machine needs more time than the tests of an application. */
const withMoreTime = (code: string): string =>
  code.replaceAll('30_000', '200_000').replaceAll('20_000', '180_000');
/** Makes `jest` a global, as in the CommonJS tests of an application that the Nest CLI has made. */
const SETUP = `import { jest } from '@jest/globals';\nglobalThis.jest = jest;\n`;
const run = promisify(execFile);

describe('the pages on testing and on getting started', () => {
  /** Folder inside the package, so that the snippets find the package and its dependencies by their names. */
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'testing-docs-'));
    await writeFile(join(folder, 'setup.mjs'), SETUP);
    for (const [name, files] of Object.entries(FILES)) {
      const page = await readFile(join(ROOT, 'docs', name), 'utf8');
      await Promise.all(
        files.map((file) => writeFile(join(folder, file), withMoreTime(readmeSnippet(page, file)))),
      );
    }
  });

  afterAll(() => rm(folder, { recursive: true }));

  it('show tests that pass', async () => {
    const config = JSON.stringify({
      ...CONFIG,
      rootDir: folder,
      setupFilesAfterEnv: ['<rootDir>/setup.mjs'],
    });
    const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
    const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
    const { stderr } = await run(process.execPath, [...flags, jest, '-i', '--config', config], {
      cwd: ROOT,
      timeout: 830_000,
    });
    expect(stderr).toMatch(/Tests: +8 passed, 8 total/);
  }, 840_000);

  it('show code that compiles, with the types of Jest', async () => {
    const compilerOptions = {
      // The snippets import one another with file extensions, and without, as in CommonJS.
      module: 'ESNext',
      moduleResolution: 'Bundler',
      target: 'ES2022',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      types: ['node', 'jest'],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', folder]);
    expect(stdout).toBe('');
  }, 180_000);
});
