import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { destinationStoreChecks } from '../../src/testing/index.js';
import { readmeSnippet } from '../support/readme-snippet.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

function compiled(code: string): string {
  return transformSync(code, { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } }).code;
}

describe('The checks of a store of your own', () => {
  /** Lies inside the package, so that the snippet can import the package by name. */
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(ROOT, 'dist', 'page-'));
    const page = await readFile(join(ROOT, 'docs/customer-webhooks.md'), 'utf8');
    const store = await readFile(join(ROOT, 'test/stored-destinations/memory-destination-store.ts'), 'utf8');
    await writeFile(join(folder, 'check.js'), compiled(readmeSnippet(page, 'store checks')));
    await writeFile(join(folder, 'memory-store.js'), compiled(store));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Resolves to what Node's test runner prints, whether the checks pass or not. */
  async function check(store: string): Promise<string> {
    const code = `
      import { checkStore } from './check.js';
      import { MemoryDestinationStore } from './memory-store.js';
      class Forgetful extends MemoryDestinationStore {
        async remove(id) {
          await super.remove(id);
          return true;
        }
      }
      class Hanging extends MemoryDestinationStore {
        list() {
          return new Promise(() => undefined);
        }
      }
      checkStore(async () => new ${store}());
    `;
    await writeFile(join(folder, 'main.test.js'), code);
    const child = run(process.execPath, ['--test-reporter=tap', join(folder, 'main.test.js')], {
      cwd: folder,
    });
    return child.then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { stdout: string }).stdout,
    );
  }

  const results = (printed: string, result: string): number =>
    printed.split('\n').filter((line) => line.startsWith(`    ${result} `)).length;

  it('pass for a store that follows the rules', async () => {
    const printed = await check('MemoryDestinationStore');
    expect(results(printed, 'ok')).toBe(destinationStoreChecks().length);
    expect(results(printed, 'not ok')).toBe(0);
  });

  it('fail for a store that breaks a rule, and name the rule', async () => {
    const printed = await check('Forgetful');
    expect(printed).toMatch(/not ok \d+ - does not find an id that it never had/);
    expect(results(printed, 'ok')).toBeGreaterThan(0);
  });

  it('fail for a store that does not answer, and name the method', async () => {
    const printed = await check('Hanging');
    expect(printed).toMatch(/not ok \d+ - lists in pages/);
    expect(printed).toContain('`list` of `destinations.store` did not answer within 3 seconds');
    expect(results(printed, 'ok')).toBeGreaterThan(0);
  });
});
