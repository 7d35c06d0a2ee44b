import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { types, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { EmbeddedQueueOpenError } from '../../errors/embedded-queue.errors.js';
import { chunksOf } from '../../shared/chunks.js';

/** Files that are written at the same time. */
const AT_ONCE = 16;

/** Layout of a tar file (POSIX, `ustar`), in bytes. Headers and contents fill whole blocks. */
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
 * Writes the template's files into a new folder. PostgreSQL recovers them at its start, as after a crash. PGlite can
 * also unpack them, but through its own file system and while nothing else runs: several times as slowly.
 *
 * @throws EmbeddedQueueOpenError when a file cannot be written, or the template is damaged. Nothing is written from
 *   then on.
 */
export async function unpackTemplate(template: Blob, path: string): Promise<void> {
  try {
    const entries = entriesOf(await promisify(gunzip)(await template.arrayBuffer()));
    await mkdir(path, { mode: 0o700 });
    // A folder comes before what is in it.
    for (const entry of entries) if (entry.isFolder) await mkdir(join(path, entry.path), { mode: 0o700 });
    const files = entries.filter(({ isFolder }) => !isFolder);
    for (const some of chunksOf(files, AT_ONCE)) {
      const written = await Promise.allSettled(
        some.map((file) => writeFile(join(path, file.path), file.contents, { mode: 0o600 })),
      );
      for (const result of written) if (result.status === 'rejected') throw result.reason;
    }
  } catch (cause) {
    throw new EmbeddedQueueOpenError(path, types.isNativeError(cause) ? cause.message : undefined, { cause });
  }
}

function entriesOf(tar: Buffer): Entry[] {
  const entries: Entry[] = [];
  // The file ends with empty blocks.
  for (let start = 0; start < tar.length && tar[start] !== 0;) {
    const header = tar.subarray(start, (start += BLOCK));
    const size = Number.parseInt(textIn(header, SIZE), 8);
    // Negated, so that it also rejects a size of NaN.
    if (!(start + size <= tar.length)) throw new Error('The template is damaged');
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
