import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDatabase } from '../../src/queue/embedded/embedded-database.js';
import { copyFolder, original } from './originals.js';

/** Folders for embedded queues. A test file makes one instance, and disposes of it at the end. */
export class EmbeddedFolders {
  private readonly root = mkdtemp(join(tmpdir(), 'analytics-embedded-'));
  private count = 0;

  /** Resolves to a path where nothing exists. */
  async fresh(): Promise<string> {
    return join(await this.root, String(++this.count));
  }

  /** Resolves to a folder with an empty queue, which opens faster than a new one. */
  async copiedDataDir(): Promise<string> {
    const copy = await this.fresh();
    await copyFolder(await original('embedded', makeQueue), copy);
    return copy;
  }

  async dispose(): Promise<void> {
    await rm(await this.root, { recursive: true, force: true });
  }
}

async function makeQueue(dir: string): Promise<string> {
  const dataDir = join(dir, 'queue');
  const pool = await openEmbeddedDatabase({ dataDir });
  await pool.end();
  return dataDir;
}
