import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const COPIED = [
  'src',
  'sample-app/src',
  'sample-app/tsconfig.json',
  'scripts',
  'package.json',
  'package-lock.json',
  'package-root.cjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.cjs.json',
];
const LINKED = ['esbuild', 'preact'];

/** Replaces the slow compiler: logs its project, and writes the files that the next build steps need. */
const COMPILER = `
const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs');
const project = process.argv[3];
appendFileSync('compiled.log', project + '\\n');
mkdirSync('dist/esm/queue/embedded', { recursive: true });
mkdirSync('dist/cjs', { recursive: true });
mkdirSync('sample-app/dist', { recursive: true });
writeFileSync('dist/esm/queue/embedded/build-template.js', '');
writeFileSync('sample-app/dist/main.js', "console.log('The shop is open.');");
`;

describe('`npm start` in a clone', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'analytics-clone-'));
    for (const path of COPIED) await cp(path, join(folder, path), { recursive: true });
    await mkdir(join(folder, 'node_modules/typescript-7/bin'), { recursive: true });
    await writeFile(join(folder, 'node_modules/typescript-7/bin/tsc'), COMPILER);
    for (const name of LINKED) {
      await symlink(join(process.cwd(), 'node_modules', name), join(folder, 'node_modules', name));
    }
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Starts the shop, and resolves to the projects that were compiled for it. */
  async function start(): Promise<string[]> {
    await writeFile(join(folder, 'compiled.log'), '');
    const { stdout } = await promisify(execFile)('npm', ['start'], { cwd: folder });
    expect(stdout).toContain('The shop is open.');
    return (await readFile(join(folder, 'compiled.log'), 'utf8')).split('\n').filter((line) => line !== '');
  }

  it('builds everything the first time, nothing the second time, and again when a file has changed', async () => {
    const everything = await start();
    expect(everything).toContain('tsconfig.build.json');
    expect(everything).toContain('sample-app/tsconfig.json');
    expect(await start()).toEqual([]);

    await appendFile(join(folder, 'src/index.ts'), '\n');
    expect(await start()).toEqual(everything);
    expect(await start()).toEqual([]);
  });
});
