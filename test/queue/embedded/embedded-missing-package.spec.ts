import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { MissingPackageError } from '../../../src/errors/setup.errors.js';

/** Resolves to Node's own error for a missing package, which differs from that of a test runner's loader. */
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

  it("is also recognised by the error of Yarn's Plug'n'Play", () => {
    const message =
      "nestjs-analytics tried to access pg (a peer dependency) but it isn't provided by your application; " +
      'this makes the require call ambiguous and unsound.';
    // The error comes from a loader hook in another thread.
    const cause: unknown = Object.assign(Object.create(Error.prototype), {
      message,
      code: 'MODULE_NOT_FOUND',
    });
    expect(MissingPackageError.explain('pg', cause)).toBeInstanceOf(MissingPackageError);
    expect(MissingPackageError.explain('g', cause)).toBe(cause);
  });

  it('is not blamed if another package that it needs is missing', async () => {
    const cause = await importError('not-a-package-at-all');
    expect(MissingPackageError.explain('pg', cause)).toBe(cause);
  });
});
