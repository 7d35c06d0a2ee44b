import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const INDEX = new URL('../../dist/esm/index.d.ts', import.meta.url);
const SPECIFIER = /(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;

/** Resolves to the packages that the public types name in all declarations that the index reaches. */
async function packagesNamed(): Promise<Set<string>> {
  const packages = new Set<string>();
  const files = [INDEX];
  const seen = new Set<string>();
  for (const file of files) {
    if (seen.has(file.href)) continue;
    seen.add(file.href);
    for (const [, specifier = ''] of (await readFile(file, 'utf8')).matchAll(SPECIFIER)) {
      if (specifier.startsWith('.')) files.push(new URL(specifier.replace(/\.js$/, '.d.ts'), file));
      else packages.add(specifier);
    }
  }
  return packages;
}

describe('the public types', () => {
  it('name no package that is an optional peer dependency, which an application may lack', async () => {
    const packages = await packagesNamed();
    expect(packages).toContain('bullmq');
    for (const optional of ['ioredis', 'pg', '@electric-sql/pglite'])
      expect(packages).not.toContain(optional);
  });
});
