import { hashOf } from './partitions.js';

const FIRST_CAPACITY = 1_024;
/** Share of the places that are filled before their number is doubled. */
const MAX_LOAD = 0.6;

/**
 * Remembers jobs by a hash of their ids, in 14 to 27 bytes each, outside of the heap. There may be a million jobs,
 * and a set of their ids would take a hundred bytes for each. The chance that two of a million ids have the same hash
 * is about one in ten thousand.
 */
export class SeenJobs {
  /** 0 in an empty place. */
  private hashes = new Float64Array(FIRST_CAPACITY);
  private size = 0;

  /** Returns whether the job was not seen before. */
  add(jobId: string): boolean {
    const hash = longHashOf(jobId);
    const place = this.placeOf(hash);
    if (this.hashes[place] === hash) return false;
    this.hashes[place] = hash;
    if (++this.size > this.hashes.length * MAX_LOAD) this.grow();
    return true;
  }

  private placeOf(hash: number): number {
    const { hashes } = this;
    let place = hash % hashes.length;
    while (hashes[place] !== 0 && hashes[place] !== hash) place = (place + 1) % hashes.length;
    return place;
  }

  private grow(): void {
    const { hashes } = this;
    this.hashes = new Float64Array(2 * hashes.length);
    for (const hash of hashes) if (hash !== 0) this.hashes[this.placeOf(hash)] = hash;
  }
}

/** Returns an integer from 1 that a number holds exactly, made of the hashes of both halves of an id. */
function longHashOf(jobId: string): number {
  const half = jobId.length >> 1;
  return hashOf(jobId.slice(0, half)) * 2 ** 20 + (hashOf(jobId.slice(half)) >>> 12) + 1;
}
