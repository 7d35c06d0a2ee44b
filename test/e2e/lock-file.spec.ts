import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';

interface LockedPackage {
  version: string;
  integrity?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

describe('The lock file', () => {
  let packages: [path: string, LockedPackage][];

  beforeAll(async () => {
    const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
    const lock = JSON.parse(text) as { packages: Record<string, LockedPackage> };
    packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  });

  it('has a hash for every package, including those of other platforms', () => {
    const without = packages.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it('names no registry: each machine takes packages from its own', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});
