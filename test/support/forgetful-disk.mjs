/**
 * A disk that keeps only what was synced. It watches what `node:fs` does to one folder, and can write at any moment
 * what a power cut might leave of the folder. Names and contents are separate: a new file, a rename or a removal is
 * kept for certain once its folder was synced. Of the contents, each page that was not synced is kept, lost or torn at
 * random.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const PAGE = 4096;
const SECTOR = 512;
const original = { ...fs };
const originalOpen = fs.promises.open;

const chance = (likelihood) => Math.random() < likelihood;

/** A file's contents on the disk, and the changes since the last sync. */
class FileNode {
  synced;
  changes = [];

  constructor(contents = Buffer.alloc(0)) {
    this.synced = contents;
  }

  sync() {
    if (this.changes.length > 0) this.synced = this.latest();
    this.changes = [];
  }

  latest() {
    let size = this.synced.length;
    for (const { at, bytes } of this.changes)
      size = bytes === undefined ? Math.max(size, at) : Math.max(size, at + bytes.length);
    const contents = Buffer.alloc(size);
    let length = this.synced.copy(contents);
    for (const { at, bytes } of this.changes) {
      if (bytes === undefined) {
        contents.fill(0, at);
        length = at;
      } else {
        bytes.copy(contents, at);
        length = Math.max(length, at + bytes.length);
      }
    }
    return contents.subarray(0, length);
  }

  /** Returns contents that a power cut might leave, at random. */
  leftover() {
    if (this.changes.length === 0) return this.synced;
    const latest = this.latest();
    const left = Buffer.alloc(chance(0.5) ? latest.length : this.synced.length);
    for (let page = 0; page < left.length; page += PAGE) {
      const isTorn = chance(0.2);
      let source = chance(0.5) ? latest : this.synced;
      for (let at = page; at < page + PAGE; at += SECTOR) {
        if (isTorn) source = chance(0.5) ? latest : this.synced;
        if (at < source.length) source.copy(left, at, at, at + SECTOR);
      }
    }
    return left;
  }
}

/** Folders are names without contents. */
const FOLDER = Symbol('folder');

export class ForgetfulDisk {
  names = new Map();
  syncedNames = new Map();
  /** By folder, the changes to its names since the last sync, in order. */
  renamings = new Map();
  open = new Map();

  /**
   * @param root the folder to watch
   * @param isSynced whether the present contents of the folder were synced
   * @param beforeChange called before each change
   */
  constructor(root, isSynced, beforeChange) {
    this.root = path.resolve(root);
    this.beforeChange = beforeChange;
    this.names.set(this.root, FOLDER);
    this.syncedNames.set(this.root, FOLDER);
    const isThere = original.existsSync(this.root);
    for (const entry of isThere
      ? original.readdirSync(this.root, { recursive: true, withFileTypes: true })
      : []) {
      const name = path.join(entry.parentPath, entry.name);
      const node = entry.isDirectory() ? FOLDER : new FileNode();
      if (node !== FOLDER) node.changes.push({ at: 0, bytes: original.readFileSync(name) });
      this.add(name, node);
    }
    if (isSynced) for (const name of [this.root, ...this.names.keys()]) this.sync(name);
    this.watch();
  }

  /** Writes what a power cut might leave at this moment. */
  writeLeftovers(target) {
    const names = new Map(this.syncedNames);
    for (const done of this.renamings.values()) {
      const kept = Math.floor(Math.random() * (done.length + 1));
      for (const rename of done.slice(0, kept)) rename(names);
    }
    const isThere = (name) => name === this.root || (names.has(name) && isThere(path.dirname(name)));
    const there = [...names].filter(([name]) => isThere(name)).sort(([a], [b]) => a.length - b.length);
    for (const [name, node] of there) {
      const copy = path.join(target, path.relative(this.root, name));
      if (node === FOLDER) original.mkdirSync(copy, { recursive: true, mode: 0o700 });
    }
    for (const [name, node] of there) {
      const copy = path.join(target, path.relative(this.root, name));
      if (node !== FOLDER) original.writeFileSync(copy, node.leftover(), { mode: 0o600 });
    }
  }

  isMine(name) {
    return name === this.root || name.startsWith(this.root + path.sep);
  }

  change(name, rename) {
    const folder = path.dirname(name);
    rename(this.names);
    this.renamings.set(folder, [...(this.renamings.get(folder) ?? []), rename]);
  }

  add(name, node) {
    if (!this.names.has(name)) this.change(name, (names) => names.set(name, node));
  }

  sync(name) {
    const node = this.names.get(name);
    if (node !== FOLDER) {
      node?.sync();
      return;
    }
    for (const rename of this.renamings.get(name) ?? []) rename(this.syncedNames);
    this.renamings.delete(name);
  }

  /** Replaces a function of `fs`. `note` is called after each call that concerns this disk. */
  replace(name, concerns, note) {
    fs[name] = (...parts) => {
      const isMine = concerns(...parts);
      if (isMine) this.beforeChange();
      const result = original[name](...parts);
      if (isMine) note(result, ...parts);
      return result;
    };
  }

  watch() {
    const byPath = (name) => typeof name === 'string' && this.isMine(path.resolve(name));
    const byDescriptor = (descriptor) => this.open.has(descriptor);
    this.replace('openSync', byPath, (descriptor, name, flags) => {
      const at = path.resolve(name);
      const isNew = !this.names.has(at);
      if (isNew) this.add(at, new FileNode());
      const node = this.names.get(at);
      const truncates =
        typeof flags === 'number' ? (flags & fs.constants.O_TRUNC) !== 0 : String(flags).startsWith('w');
      if (truncates && node !== FOLDER && !isNew) node.changes.push({ at: 0 });
      this.open.set(descriptor, { name: at, node });
    });
    this.replace('closeSync', byDescriptor, (_, descriptor) => this.open.delete(descriptor));
    this.replace('writeSync', byDescriptor, (written, descriptor, buffer, offset, length, position) => {
      const bytes = Buffer.from(buffer.buffer, buffer.byteOffset + offset, written);
      this.open.get(descriptor).node.changes.push({ at: Number(position), bytes: Buffer.from(bytes) });
    });
    this.replace('fsyncSync', byDescriptor, (_, descriptor) => {
      const { name, node } = this.open.get(descriptor);
      if (node === FOLDER) this.sync(name);
      else node.sync();
    });
    this.replace('ftruncateSync', byDescriptor, (_, descriptor, at) => {
      this.open.get(descriptor).node.changes.push({ at });
    });
    this.replace('truncateSync', byPath, (_, name, at) => {
      this.names.get(path.resolve(name)).changes.push({ at });
    });
    this.replace('writeFileSync', byPath, (_, name, contents) => {
      const node = new FileNode();
      node.changes.push({ at: 0, bytes: Buffer.from(contents) });
      this.add(path.resolve(name), node);
    });
    this.replace('mkdirSync', byPath, (_, name) => {
      this.add(path.resolve(name), FOLDER);
    });
    for (const removal of ['unlinkSync', 'rmdirSync']) {
      this.replace(removal, byPath, (_, name) => {
        this.change(path.resolve(name), (names) => names.delete(path.resolve(name)));
      });
    }
    this.replace('renameSync', byPath, (_, from, to) => {
      const node = this.names.get(path.resolve(from));
      this.change(path.resolve(to), (names) => {
        names.delete(path.resolve(from));
        names.set(path.resolve(to), node);
      });
    });
    fs.promises.open = async (name, ...rest) => {
      const handle = await originalOpen(name, ...rest);
      const { sync } = handle;
      handle.sync = async () => {
        await sync.call(handle);
        if (byPath(name)) this.sync(path.resolve(name));
      };
      return handle;
    };
    syncBuiltinESMExports();
  }
}
