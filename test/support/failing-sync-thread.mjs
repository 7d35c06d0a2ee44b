/**
 * The thread of an embedded database on a disk that fails: if a file `sync-fails` lies beside the database, the next
 * sync of the database's log fails and removes that file. As on Linux, later syncs do not report what was not written.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const { openSync, closeSync, fsyncSync, existsSync, rmSync } = { ...fs };
/** For each open descriptor of the log, the file that makes its sync fail. */
const failures = new Map();

fs.openSync = (name, ...rest) => {
  const descriptor = openSync(name, ...rest);
  const folder = path.dirname(name);
  if (path.basename(folder) === 'pg_wal') failures.set(descriptor, path.resolve(folder, '../../sync-fails'));
  return descriptor;
};
fs.closeSync = (descriptor) => {
  failures.delete(descriptor);
  closeSync(descriptor);
};
fs.fsyncSync = (descriptor) => {
  const failure = failures.get(descriptor);
  if (failure !== undefined && existsSync(failure)) {
    rmSync(failure);
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  }
  fsyncSync(descriptor);
};
syncBuiltinESMExports();

await import('../../dist/esm/queue/embedded/database-thread.worker.js');
