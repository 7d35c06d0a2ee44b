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

/** The files that each file imports, also for types alone or later. */
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

/** One circle of files that import one another, if there is any. */
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

describe('The files of src', () => {
  const imports = importsOf(new Set(files()));

  it('import one another', () => {
    expect(imports.get('src/index.ts')).toContain('src/analytics.module.ts');
  });

  it('never in a circle', () => {
    expect(circleIn(imports)).toBeUndefined();
  });
});
