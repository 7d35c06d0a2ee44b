/**
 * Puts the thread of an embedded database on a disk that forgets. At random moments, it writes what a power cut would
 * leave at that moment into a folder beside the database's folder, together with the time, for the test to open.
 */
import fs from 'node:fs';
import path from 'node:path';
import { parentPort } from 'node:worker_threads';
import { ForgetfulDisk } from './forgetful-disk.mjs';

/** Most changes of files between two cuts. A cut always falls between two changes. */
const MOST_CHANGES = 600;
/** Most cuts that the test has not looked at yet. */
const MOST_WAITING = 2;

const { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } = { ...fs };
let disk;
let cuts = '';
let count = 0;
let changesLeft = Infinity;

const nextCut = () => {
  changesLeft = Math.ceil(Math.random() * MOST_CHANGES);
};

function beforeChange() {
  if (--changesLeft > 0) return;
  nextCut();
  if (existsSync(cuts) && readdirSync(cuts).length >= MOST_WAITING) return;
  const unfinished = `${cuts}-unfinished`;
  mkdirSync(unfinished, { recursive: true });
  const at = process.hrtime.bigint();
  disk.writeLeftovers(path.join(unfinished, 'postgres'));
  writeFileSync(path.join(unfinished, 'time'), String(at));
  mkdirSync(cuts, { recursive: true });
  renameSync(unfinished, path.join(cuts, String(count++)));
}

parentPort.on('message', (request) => {
  if (request.kind === 'open') {
    cuts = path.resolve(request.files.path, '../../cuts');
    const { path: folder, isNew } = request.files;
    disk = new ForgetfulDisk(folder, !isNew, beforeChange);
  } else if (disk !== undefined && changesLeft === Infinity) {
    // The database is open: from now on, everything that it acknowledges counts.
    nextCut();
  }
});
