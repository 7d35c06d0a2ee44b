import { closeSync, fsyncSync, openSync } from 'node:fs';
import type { NodeFS } from '@electric-sql/pglite/nodefs';
import { changeOperations, type FileNode, type FileOperations } from './emscripten-files.js';

const LOG_FOLDER = 'pg_wal';

/** Windows has no sync for folders. */
const SYNCS_FOLDERS = process.platform !== 'win32';

/**
 * Brings a database's commits to the disk. PGlite's own files have no `fsync`.
 *
 * PostgreSQL syncs its write-ahead log at every commit. That is put off until `sync()` is called, before the
 * commits are acknowledged, so that one sync serves many. Nothing else may reach the disk before the log
 * does: whatever changes another file makes up for it first.
 */
export class SyncedFiles {
  /** Descriptors of the log's files whose sync was put off. */
  private readonly putOff = new Set<number>();
  /** Folders with new files, with their descriptors. PostgreSQL syncs a table's file, but not its name. */
  private readonly withNewFiles = new Map<string, number>();
  /** That the log could not be synced. The next try would succeed without what was to be written. */
  private failure: Error | undefined;

  /**
   * @param files are watched from their `init` on
   * @param isPaused whether nothing is synced until `start()`. PostgreSQL syncs all files of a database that was not shut down,
   *   one by one
   */
  constructor(
    files: NodeFS,
    private isPaused: boolean,
  ) {
    changeOperations(files, ({ NODEFS }) => {
      this.replaceOperations(NODEFS);
    });
  }

  /** Everything is on the disk, and must be from now on. */
  start(): void {
    for (const descriptor of this.withNewFiles.values()) closeSync(descriptor);
    this.withNewFiles.clear();
    this.isPaused = false;
  }

  /** Makes all that was committed durable. Once it has failed, it always does. */
  readonly sync = (): void => {
    if (this.failure !== undefined) throw this.failure;
    try {
      for (const descriptor of this.putOff) fsyncSync(descriptor);
    } catch (error) {
      this.failure = error as Error;
      throw error;
    }
    this.putOff.clear();
  };

  private replaceOperations(operations: FileOperations): void {
    const { stream_ops: streamOps, node_ops: nodeOps } = operations;
    const { write, close, setattr } = streamOps;
    const syncFirst = (): void => {
      if (this.putOff.size > 0) operations.tryFSOperation(this.sync);
    };
    streamOps.fsync = (stream) => {
      if (this.isPaused) return 0;
      if (isLog(stream.node)) this.putOff.add(stream.nfd);
      else
        operations.tryFSOperation(() => {
          this.syncFile(stream.nfd, operations.realPath(stream.node.parent));
        });
      return 0;
    };
    streamOps.write = (stream, ...rest) => {
      if (!isLog(stream.node)) syncFirst();
      return write(stream, ...rest);
    };
    streamOps.close = (stream) => {
      if (this.putOff.has(stream.nfd)) syncFirst();
      return close(stream);
    };
    streamOps.setattr = (...parts) => {
      syncFirst();
      return setattr(...parts);
    };
    const { mknod } = nodeOps;
    nodeOps.mknod = (parent, ...rest) => {
      syncFirst();
      if (parent.name !== LOG_FOLDER)
        operations.tryFSOperation(() => {
          this.open(operations.realPath(parent));
        });
      return mknod(parent, ...rest);
    };
    const { rmdir } = nodeOps;
    nodeOps.rmdir = (parent, name, ...rest) => {
      syncFirst();
      const removed = rmdir(parent, name, ...rest);
      this.forget(`${operations.realPath(parent)}/${name}`);
      return removed;
    };
    for (const name of ['rename', 'unlink', 'symlink', 'setattr'] as const) {
      const operation = nodeOps[name];
      nodeOps[name] = (node, ...rest) => {
        syncFirst();
        return operation(node, ...rest);
      };
    }
  }

  /** Before a file is made: PostgreSQL can wait for a file handle then. It ends where a sync fails for want of one. */
  private open(folder: string): void {
    if (SYNCS_FOLDERS && !this.withNewFiles.has(folder)) this.withNewFiles.set(folder, openSync(folder, 'r'));
  }

  /** One that is made again under the same path is another folder. */
  private forget(folder: string): void {
    const opened = this.withNewFiles.get(folder);
    if (opened === undefined) return;
    this.withNewFiles.delete(folder);
    closeSync(opened);
  }

  private syncFile(descriptor: number, folder: string): void {
    this.sync();
    fsyncSync(descriptor);
    const opened = this.withNewFiles.get(folder);
    if (opened === undefined) return;
    fsyncSync(opened);
    this.forget(folder);
  }
}

function isLog({ parent }: FileNode): boolean {
  return parent.name === LOG_FOLDER;
}
