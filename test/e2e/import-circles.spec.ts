import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = 'src';

function files(): string[] {
  return readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
    .map((file) => join(ROOT, file));
}

/** Returns the files that each file imports, including type-only and dynamic imports. */
function importsOf(all: ReadonlySet<string>): Map<string, string[]> {
  return new Map(
    [...all].map((file) => [
      file,
      ts
        .preProcessFile(readFileSync(file, 'utf8'))
        .importedFiles.map(({ fileName }) => join(dirname(file), fileName))
        .flatMap((target) => [target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')])
        .filter((target) => all.has(target)),
    ]),
  );
}

/** Returns a circle of files that import one another, if there is any. */
function circleIn(imports: ReadonlyMap<string, string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of imports.get(file) ?? []) {
      const circle = visit(target, [...way, file]);
      if (circle !== undefined) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = visit(file, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

/** Returns the imports between the folders of `src`. A file outside these folders counts as a folder. */
function foldersOf(imports: ReadonlyMap<string, string[]>): Map<string, string[]> {
  const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');
  const folders = new Map<string, string[]>();
  for (const [file, targets] of imports) {
    const folder = folderOf(file);
    const others = targets.map(folderOf).filter((other) => other !== folder);
    folders.set(folder, [...(folders.get(folder) ?? []), ...others]);
  }
  return folders;
}

describe('The files of src', () => {
  const imports = importsOf(new Set(files()));

  it('import one another', () => {
    expect(imports.get('src/index.ts')).toContain('src/analytics.module.ts');
  });

  it('do not import one another in a circle', () => {
    expect(circleIn(imports)).toBeUndefined();
  });

  it('do not import one another in a circle of folders', () => {
    expect(circleIn(foldersOf(imports))).toBeUndefined();
  });
});
