import type { NodeFS } from '@electric-sql/pglite/nodefs';

/** The parts of Emscripten used here. All file operations of PostgreSQL end in those of Emscripten's NODEFS. */
export interface EmscriptenFiles {
  FS: {
    /** Returns the cached node. Asks the disk only if there is none. */
    lookupNode(parent: FileNode, name: string): FileNode;
    destroyNode(node: FileNode): void;
    isFile(mode: number): boolean;
    closeStream(fd: number): void;
  };
  NODEFS: FileOperations;
}

export interface FileOperations {
  stream_ops: {
    open: (stream: Stream) => unknown;
    fsync?: (stream: Stream) => number;
    write: (stream: Stream, ...rest: unknown[]) => unknown;
    close: (stream: Stream) => unknown;
    setattr: (...parts: unknown[]) => unknown;
  };
  node_ops: Record<NodeOperation, (node: FileNode, ...rest: unknown[]) => unknown> & {
    mknod: (parent: FileNode, name: string, ...rest: unknown[]) => FileNode;
    rmdir: (parent: FileNode, name: string, ...rest: unknown[]) => unknown;
  };
  /** Runs an operation, and turns Node's errors into an `errno` for PostgreSQL. */
  tryFSOperation(operation: () => void): void;
  realPath(node: FileNode): string;
}

type NodeOperation = 'rename' | 'unlink' | 'symlink' | 'setattr';

export interface FileNode {
  name: string;
  mode: number;
  parent: FileNode;
}

export interface Stream {
  /** Emscripten's descriptor of the file. */
  fd: number;
  /** Node's descriptor of the file. */
  nfd: number;
  node: FileNode;
}

/** Lets `change` replace operations before PostgreSQL uses them. */
export function changeOperations(files: NodeFS, change: (emscripten: EmscriptenFiles) => void): void {
  const init = files.init.bind(files);
  files.init = async (database, options) => {
    const result = await init(database, options);
    result.emscriptenOpts.preRun?.push((module: unknown) => {
      change(module as EmscriptenFiles);
    });
    return result;
  };
}

/**
 * Removes the nodes that Emscripten caches for a file that could not be created or opened, as when the process has no
 * file handle left or the disk is full. Otherwise the missing file counts as existing while the process runs, and
 * PostgreSQL can neither create nor open it. Each failed open would also use up one of the 4,096 descriptors.
 */
export function forgetFailures({ FS, NODEFS }: EmscriptenFiles): void {
  const { mknod } = NODEFS.node_ops;
  const { open } = NODEFS.stream_ops;
  /** The file that was created last, until it is opened. */
  let made: FileNode | undefined;
  NODEFS.node_ops.mknod = (parent, name, ...rest) => {
    try {
      const node = mknod(parent, name, ...rest);
      // Folders are not tracked: a folder that cannot be opened now can be opened later.
      made = FS.isFile(node.mode) ? node : undefined;
      return node;
    } catch (error) {
      FS.destroyNode(FS.lookupNode(parent, name));
      throw error;
    }
  };
  NODEFS.stream_ops.open = (stream) => {
    const { fd, node } = stream;
    const isNew = node === made;
    // After this open the file may have contents, so a later open that fails must not remove it.
    made = undefined;
    try {
      return open(stream);
    } catch (error) {
      FS.closeStream(fd);
      // To PostgreSQL, creating and opening is one step. A retry creates the file again, so it must be gone by then.
      if (isNew) {
        try {
          NODEFS.node_ops.unlink(node.parent, node.name);
        } catch {
          // The next attempt then finds the file in its way, and reports that.
        }
        FS.destroyNode(node);
      }
      throw error;
    }
  };
}
