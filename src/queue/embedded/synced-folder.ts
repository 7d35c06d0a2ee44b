import { open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files synced at the same time: few are open, and the disk still has enough work to combine. */
const AT_ONCE = 16;

/** Windows syncs only files that are open for writing, and has no sync for folders. */
const IS_WINDOWS = process.platform === 'win32';

/** Makes a folder and everything below it durable. */
export async function syncTree(path: string): Promise<void> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const folders = [path];
  const files: string[] = [];
  for (const entry of entries)
    (entry.isDirectory() ? folders : files).push(join(entry.parentPath, entry.name));
  const next = files.values();
  const work = async (): Promise<void> => {
    for (const file of next) await sync(file, IS_WINDOWS ? 'r+' : 'r');
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const folder of folders) await syncFolder(folder);
}

/** Makes the names in a folder durable after files in it were created, renamed or removed. */
export async function syncFolder(path: string): Promise<void> {
  if (!IS_WINDOWS) await sync(path, 'r');
}

/** Makes new folders durable: `path`, and its parents up to `first` that `mkdir` created along with it. */
export async function syncNewFolders(path: string, first: string): Promise<void> {
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(dirname(folder));
    if (folder === first) return;
  }
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
