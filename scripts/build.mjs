/**
 * Builds the package twice, as ES modules and as CommonJS, and then the sample application on top of it. With
 * `--if-changed`, does nothing if the last build was made from the same files.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { buildSync } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
/** File with the fingerprint of the sources of the last complete build. */
const BUILT_FROM = join(ROOT, 'dist/.built-from');
const SOURCES = [
  'src',
  'sample-app/src',
  'sample-app/tsconfig.json',
  'scripts/build.mjs',
  'package.json',
  'package-lock.json',
  'package-root.cjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.cjs.json',
];

/** TypeScript 7 takes a quarter of the time. ESLint and TypeDoc use the API of TypeScript 6. */
const TSC = 'node_modules/typescript-7/bin/tsc';

/** TypeScript compiles dynamic imports to a `require` in a callback, where bundlers do not see the `try` around it. */
const DEFERRED_REQUIRE = /Promise\.resolve\(\)\.then\(\(\) => (__importStar\(require\(["'][^"']+["']\)\))\)/g;

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function fingerprint() {
  const hash = createHash('sha256').update(process.version);
  for (const source of SOURCES) {
    const path = join(ROOT, source);
    const files = source.endsWith('src') ? filesIn(path) : [path];
    for (const file of files) hash.update(file).update(readFileSync(file));
  }
  return hash.digest('hex');
}

function run(...argv) {
  const { status } = spawnSync(process.execPath, argv, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function buildCommonJs() {
  const { imports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  run(TSC, '-p', 'tsconfig.cjs.json');
  const folder = join(ROOT, 'dist/cjs');
  writeFileSync(
    join(folder, 'package.json'),
    '{ "type": "commonjs", "sideEffects": ["**/testing/register-matchers.js"] }\n',
  );
  for (const file of filesIn(folder).filter((name) => name.endsWith('.js'))) {
    const code = readFileSync(file, 'utf8');
    // For Node, this folder is a package of its own, and `imports` must not lead out of a package.
    const changed = code
      .replace(DEFERRED_REQUIRE, '$1')
      .replace(/require\(["'](#[\w-]+)["']\)/g, (_, name) => {
        const path = relative(dirname(file), join(ROOT, imports[name].default));
        return `require('${path.replaceAll(sep, '/')}')`;
      });
    if (changed !== code) writeFileSync(file, changed);
  }
}

/** Builds the console's page, with everything that it needs, as a module: a bundle has no files to read. */
function buildConsole() {
  const page = join(ROOT, 'src/console/page');
  run(TSC, '-p', join(page, 'tsconfig.json'));
  const { outputFiles } = buildSync({
    entryPoints: { page: join(page, 'main.tsx') },
    outdir: join(ROOT, 'dist'),
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
  const text = (extension) => JSON.stringify(outputFiles.find(({ path }) => path.endsWith(extension)).text);
  writeFileSync(
    join(ROOT, 'dist/console-page.cjs'),
    `'use strict';\nexports.SCRIPT = ${text('.js')};\nexports.STYLES = ${text('.css')};\n`,
  );
}

const sources = fingerprint();
const isBuilt = existsSync(BUILT_FROM) && readFileSync(BUILT_FROM, 'utf8') === sources;
if (!isBuilt || !process.argv.includes('--if-changed')) {
  for (const folder of ['dist', 'sample-app/dist'])
    rmSync(join(ROOT, folder), { recursive: true, force: true });
  run(TSC, '-p', 'tsconfig.build.json');
  buildCommonJs();
  buildConsole();
  run('dist/esm/queue/embedded/build-template.js');
  run(TSC, '-p', 'sample-app/tsconfig.json');
  writeFileSync(BUILT_FROM, sources);
}
