import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { MissingPackageError } from '../../../src/errors/setup.errors.js';

/** What Node itself says when a package is not there, which is not what a test runner's loader says. */
async function importError(name: string): Promise<Error> {
  const script = `import('${name}').catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const details: unknown = JSON.parse(stdout);
  return Object.assign(new Error(), details);
}

describe('an optional package that is not installed', () => {
  it('is named, with the command that installs it', async () => {
    const cause = await importError('not-a-package-at-all');
    expect(MissingPackageError.explain('not-a-package-at-all', cause)).toMatchObject({
      code: 'MISSING_PACKAGE',
      packageName: 'not-a-package-at-all',
      message: expect.stringContaining('npm install not-a-package-at-all'),
      cause,
    });
  });

  it('is not blamed for another one that it needs itself', async () => {
    const cause = await importError('not-a-package-at-all');
    expect(MissingPackageError.explain('pg', cause)).toBe(cause);
  });
});
