/** Makes a file as PostgreSQL does, opens it again while there is no file handle, and says what is in it afterwards. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { changeOperations, forgetFailures } from '../../../../src/queue/embedded/emscripten-files.js';

interface EmscriptenFileSystem {
  writeFile(path: string, contents: string): void;
  open(path: string, flags: string): unknown;
}

/** PGlite has the folder here. */
const MADE = '/pglite/data/made';

const [dataDir = ''] = process.argv.slice(2);
const files = new NodeFS(dataDir);
const opened: EmscriptenFileSystem[] = [];
changeOperations(files, (emscripten) => {
  forgetFailures(emscripten);
  opened.push(emscripten.FS as unknown as EmscriptenFileSystem);
});
await PGlite.create({ fs: files });
const [FS] = opened;
if (FS === undefined) throw new Error('PGlite was not opened');
FS.writeFile(MADE, 'contents');

const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // There is none left.
}
let refusal = 'none';
try {
  FS.open(MADE, 'r+');
} catch (error) {
  refusal = String(error);
}
for (const handle of taken) closeSync(handle);
console.log(`has ${readFileSync(join(dataDir, 'made'), 'utf8')} after ${refusal}`);
process.exit();
