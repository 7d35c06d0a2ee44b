import type { NodeFS } from '@electric-sql/pglite/nodefs';

/** The parts of Emscripten that are used here. All file operations of PostgreSQL end in those of its NODEFS. */
export interface EmscriptenFiles {
  FS: {
    /** Finds what is remembered; asks the disk only where nothing is. */
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
  /** Turns an error of Node into the `errno` of PostgreSQL. */
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
 * Takes back what Emscripten remembers of a file that could not be created or opened, as where the process has no file
 * handle left or the disk is full. Else such a file counts as existing for as long as the process runs although it is not
 * there: PostgreSQL can then neither create nor open it. Each failed open would also use up one of the 4,096 descriptors.
 */
export function forgetFailures({ FS, NODEFS }: EmscriptenFiles): void {
  const { mknod } = NODEFS.node_ops;
  const { open } = NODEFS.stream_ops;
  /** What was made last, and not opened yet. */
  let made: FileNode | undefined;
  NODEFS.node_ops.mknod = (parent, name, ...rest) => {
    try {
      const node = mknod(parent, name, ...rest);
      // A folder that cannot be opened now can be opened later.
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
    // From now on it may have contents.
    made = undefined;
    try {
      return open(stream);
    } catch (error) {
      FS.closeStream(fd);
      // Made and opened are one thing to PostgreSQL, which makes it again: it must not be there then.
      if (isNew) {
        try {
          NODEFS.node_ops.unlink(node.parent, node.name);
        } catch {
          // It is in the way of the next try then, and that says so.
        }
        FS.destroyNode(node);
      }
      throw error;
    }
  };
}
