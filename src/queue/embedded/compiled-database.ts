import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { entryOf } from './built-files.js';
import { isNotThere } from './database-template.js';
import { PGLITE_PACKAGE } from './pglite-factory.js';

const WASM_FILE = 'pglite.wasm';

/** Node has it, but its types leave it to those of a browser. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

let compiled: Promise<object | undefined> | undefined;

/**
 * PostgreSQL in WebAssembly, for threads that are to run it; `undefined` where PGlite has to find it by itself, as in
 * a bundle. What one database has compiled, the next one need not: the tests of an application open many.
 */
export function compiledDatabase(): Promise<object | undefined> {
  return (compiled ??= compile().catch((error: unknown) => {
    // Where there was no file handle, or no memory, there may be some the next time.
    compiled = undefined;
    throw error;
  }));
}

async function compile(): Promise<object | undefined> {
  try {
    return await WebAssembly.compile(await readFile(join(dirname(entryOf(PGLITE_PACKAGE)), WASM_FILE)));
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
