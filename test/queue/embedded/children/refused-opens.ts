/**
 * Creates files as PostgreSQL does. One cannot be opened at first, and is created again. Another one is opened again
 * while there is no file handle. Prints the results.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { changeOperations, forgetFailures } from '../../../../src/queue/embedded/emscripten-files.js';

interface EmscriptenFileSystem {
  ErrnoError: new (errno: number) => Error;
  writeFile(path: string, contents: string): void;
  open(path: string, flags: number): unknown;
}

/** Path at which PGlite mounts the folder. */
const FOLDER = '/pglite/data';
const EMFILE = 33;
const READ_AND_WRITE = 2;
/** With `O_CREAT` and `O_EXCL`. */
const MAKE = READ_AND_WRITE | 64 | 128;

const [dataDir = ''] = process.argv.slice(2);
const files = new NodeFS(dataDir);
const opened: EmscriptenFileSystem[] = [];
let refusals = 1;
changeOperations(files, (emscripten) => {
  const FS = emscripten.FS as unknown as EmscriptenFileSystem;
  const { stream_ops: operations } = emscripten.NODEFS;
  const { open } = operations;
  operations.open = (stream) => {
    if (stream.node.name === 'refused' && refusals-- > 0) throw new FS.ErrnoError(EMFILE);
    return open(stream);
  };
  forgetFailures(emscripten);
  opened.push(FS);
});
await PGlite.create({ fs: files });
const [FS] = opened;
if (FS === undefined) throw new Error('PGlite was not opened');

function errnoOf(open: () => unknown): unknown {
  try {
    open();
    return 'none';
  } catch (error) {
    return typeof error === 'object' && error !== null && 'errno' in error ? error.errno : error;
  }
}

const make = (): unknown => errnoOf(() => FS.open(`${FOLDER}/refused`, MAKE));
console.log(`refused: ${String(make())}, then ${String(make())}`);

FS.writeFile(`${FOLDER}/made`, 'contents');
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // No file handle is left.
}
const refusal = errnoOf(() => FS.open(`${FOLDER}/made`, READ_AND_WRITE));
for (const handle of taken) closeSync(handle);
console.log(`has ${readFileSync(join(dataDir, 'made'), 'utf8')} after ${String(refusal)}`);
process.exit();
