import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { entryOf } from './built-files.js';
import { isNotThere } from './database-template.js';
import { PGLITE_PACKAGE } from './pglite-factory.js';

const WASM_FILE = 'pglite.wasm';

/** Node provides this global, but only the types of browsers declare it. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

let compiled: Promise<object | undefined> | undefined;

/**
 * Resolves to the compiled WebAssembly of PostgreSQL for the database threads, or to `undefined` if PGlite has to find
 * it itself, as in a bundle. All databases of a process share the result, since the tests of an application open many.
 */
export function compiledDatabase(): Promise<object | undefined> {
  return (compiled ??= compile().catch((error: unknown) => {
    // A lack of file handles or memory may be over at the next call.
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
