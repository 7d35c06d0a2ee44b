import { closeSync, fsyncSync, openSync } from 'node:fs';
import type { NodeFS } from '@electric-sql/pglite/nodefs';
import { changeOperations, type FileNode, type FileOperations } from './emscripten-files.js';

const LOG_FOLDER = 'pg_wal';

/** Windows has no sync for folders. */
const SYNCS_FOLDERS = process.platform !== 'win32';

/**
 * Makes a database's commits durable. PGlite's own files have no `fsync`.
 *
 * PostgreSQL syncs its write-ahead log at every commit. These syncs are put off until `sync()` is called, before the
 * commits are acknowledged, so that one sync serves many. Nothing else may reach the disk before the log does, so every
 * operation that changes another file first runs the syncs that were put off.
 */
export class SyncedFiles {
  /** Descriptors of the log files whose sync was put off. */
  private readonly putOff = new Set<number>();
  /** Descriptors of folders with new files, by path. PostgreSQL syncs a table's file, but not its name. */
  private readonly withNewFiles = new Map<string, number>();
  /** Error of the sync that failed. Another attempt would succeed although data was not written. */
  private failure: Error | undefined;

  /**
   * @param files file system whose operations are replaced at its `init`
   * @param isPaused whether nothing is synced until `start()`. Otherwise PostgreSQL syncs all files of a database that
   *   was not shut down, one by one
   */
  constructor(
    files: NodeFS,
    private isPaused: boolean,
  ) {
    changeOperations(files, ({ NODEFS }) => {
      this.replaceOperations(NODEFS);
    });
  }

  /** Ends the pause. Call this once everything is on the disk. */
  start(): void {
    for (const descriptor of this.withNewFiles.values()) closeSync(descriptor);
    this.withNewFiles.clear();
    this.isPaused = false;
  }

  /** Makes all earlier commits durable. Once a sync has failed, all later ones fail. */
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

  /**
   * Opens a folder before a file is created in it: PostgreSQL can still wait for a file handle then. It would end if a
   * sync failed for lack of a handle.
   */
  private open(folder: string): void {
    if (SYNCS_FOLDERS && !this.withNewFiles.has(folder)) this.withNewFiles.set(folder, openSync(folder, 'r'));
  }

  /** Closes a folder's descriptor. A folder created again under the same path is a different one. */
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
