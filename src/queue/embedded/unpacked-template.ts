import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { types, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { EmbeddedQueueOpenError } from '../../errors/embedded-queue.errors.js';

/** Files that are written at the same time. */
const AT_ONCE = 16;

/** Parts of a header of a tar file (POSIX, `ustar`). It fills a block, and so does each part of the contents. */
const BLOCK = 512;
const NAME = { start: 0, end: 100 };
const SIZE = { start: 124, end: 136 };
const TYPE = { start: 156, end: 157 };
const FOLDER = '5';

interface Entry {
  path: string;
  isFolder: boolean;
  contents: Buffer;
}

/**
 * Writes the template's files into a folder, as a database that was stopped. PGlite can do that itself, through its own file
 * system and while nothing else goes on: it takes several times as long.
 *
 * @throws EmbeddedQueueOpenError when a file cannot be written.
 */
export async function unpackTemplate(template: Blob, path: string): Promise<void> {
  const entries = entriesOf(await promisify(gunzip)(await template.arrayBuffer()));
  try {
    await mkdir(path, { mode: 0o700 });
    // A folder comes before what is in it.
    for (const entry of entries) if (entry.isFolder) await mkdir(join(path, entry.path), { mode: 0o700 });
    const files = entries.filter(({ isFolder }) => !isFolder).values();
    const work = async (): Promise<void> => {
      for (const file of files) await writeFile(join(path, file.path), file.contents, { mode: 0o600 });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } catch (cause) {
    throw new EmbeddedQueueOpenError(path, types.isNativeError(cause) ? cause.message : undefined, { cause });
  }
}

function entriesOf(tar: Buffer): Entry[] {
  const entries: Entry[] = [];
  // It ends with empty blocks.
  for (let start = 0; start < tar.length && tar[start] !== 0;) {
    const header = tar.subarray(start, (start += BLOCK));
    const size = Number.parseInt(textIn(header, SIZE), 8);
    entries.push({
      path: textIn(header, NAME),
      isFolder: textIn(header, TYPE) === FOLDER,
      contents: tar.subarray(start, start + size),
    });
    start += Math.ceil(size / BLOCK) * BLOCK;
  }
  return entries;
}

function textIn(header: Buffer, { start, end }: { start: number; end: number }): string {
  const [text = ''] = header.toString('latin1', start, end).split('\0');
  return text;
}
