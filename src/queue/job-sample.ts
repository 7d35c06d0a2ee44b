import { hashOf } from './partitions.js';

/** The hashes of ids are below this. */
const HASHES = 2 ** 32;

/**
 * Counts the ids of jobs, and keeps all of them, or a random sample if there are more than it may keep. An id that
 * comes again counts once, since its hash decides whether it is kept.
 */
export class JobSample {
  private readonly hashes = new Map<string, number>();
  /** Ids with hashes below this are kept. */
  private limit = HASHES;

  /** @param most maximum number of ids that are kept */
  constructor(private readonly most: number) {}

  add(id: string): void {
    const hash = hashOf(id);
    if (hash >= this.limit) return;
    this.hashes.set(id, hash);
    if (this.hashes.size > this.most) this.halve();
  }

  /** Number of jobs. An estimate if not all ids are kept. */
  get jobs(): number {
    return (this.hashes.size * HASHES) / this.limit;
  }

  get isExact(): boolean {
    return this.limit === HASHES;
  }

  /** The ids that are kept, in random order, so that the first ones are a sample, too. */
  get ids(): string[] {
    return [...this.hashes].sort(([, one], [, other]) => one - other).map(([id]) => id);
  }

  private halve(): void {
    this.limit /= 2;
    for (const [id, hash] of this.hashes) if (hash >= this.limit) this.hashes.delete(id);
  }
}
