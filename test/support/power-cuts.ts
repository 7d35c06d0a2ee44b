import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPostgresBackend, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../src/queue/embedded/embedded-database.js';
import type { Durability } from '../../src/options/resolved-options.js';
import type { PGlitePool } from '../../src/queue/embedded/pglite-pool.js';

const { Queue, Worker } = withBackend(createPostgresBackend);
const THREAD = fileURLToPath(new URL('./power-cut-thread.mjs', import.meta.url));

/** How many jobs a power cut should have left, and the ids of those that it did not leave. */
export interface PowerCut {
  acknowledged: number;
  lost: string[];
}

export interface PowerCutOptions {
  /** @default 'disk' */
  durability?: Durability;
  /** Whether this cut is the last that the test needs. @default all are made */
  isLast?: (cut: PowerCut) => boolean;
}

/**
 * Works with a new embedded queue in `dataDir`, and cuts the power at random moments: opens what the disk may hold at
 * such a moment as another queue. Meanwhile, the work goes on for the next cuts.
 *
 * @param count most cuts
 */
export async function runPowerCuts(
  dataDir: string,
  count: number,
  { durability = 'disk', isLast = () => false }: PowerCutOptions = {},
): Promise<PowerCut[]> {
  const pool = await openEmbeddedDatabase({ dataDir, durability, threadFile: THREAD });
  const work = new QueueWork(pool);
  const cuts: PowerCut[] = [];
  try {
    while (cuts.length < count) {
      const folder = await nextCut(dataDir);
      const cut = await compare(folder, work.acknowledgedAt);
      cuts.push(cut);
      await rm(folder, { recursive: true });
      if (isLast(cut)) break;
    }
  } finally {
    await work.end();
    await pool.end();
  }
  return cuts;
}

/** Resolves to the folder of the next cut. */
async function nextCut(dataDir: string): Promise<string> {
  const folder = join(dirname(dataDir), 'cuts');
  for (;;) {
    const [name] = await readdir(folder).catch(() => []);
    if (name !== undefined) return join(folder, name);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function compare(folder: string, acknowledgedAt: Map<string, bigint>): Promise<PowerCut> {
  const time = BigInt(await readFile(join(folder, 'time'), 'utf8'));
  const expected = [...acknowledgedAt].filter(([, at]) => at < time).map(([id]) => id);
  const pool = await openEmbeddedDatabase({ dataDir: folder });
  const kept = new Set(await idsOf(pool));
  // The queue must also work: a torn index would show here.
  await new Queue('kept', { connection: pool }).addBulk([{ name: 'job', data: {} }]);
  await pool.end();
  return { acknowledged: expected.length, lost: expected.filter((id) => !kept.has(id)) };
}

async function idsOf(pool: PGlitePool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; data: unknown }>(
    `SELECT id, data FROM job WHERE queue = $1`,
    ['kept'],
  );
  return rows.map(({ id }) => id);
}

/** Adds jobs that stay, one by one and many at once, alongside a queue whose jobs come and go. */
class QueueWork {
  /** By job id, times on the clock that all threads share. */
  readonly acknowledgedAt = new Map<string, bigint>();
  private readonly kept;
  private readonly passing;
  private readonly worker;
  private readonly loops: Promise<void>[];
  private isEnding = false;

  constructor(pool: PGlitePool) {
    this.kept = new Queue('kept', { connection: pool });
    this.passing = new Queue('passing', { connection: pool, defaultJobOptions: { removeOnComplete: true } });
    this.worker = new Worker('passing', () => Promise.resolve(), {
      connection: pool.asynchronous,
      concurrency: 8,
    });
    this.loops = [this.keep('one', 1), this.keep('many', 20), this.pass()];
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await Promise.all(this.loops);
    await this.worker.close();
    await this.passing.close();
    await this.kept.close();
  }

  private async keep(name: string, size: number): Promise<void> {
    for (let n = 0; !this.isEnding; n++) {
      const ids = Array.from({ length: size }, (_, index) => `${name}-${n}-${index}`);
      await this.kept.addBulk(
        ids.map((jobId) => ({ name: 'job', data: { body: 'x'.repeat(300) }, opts: { jobId } })),
      );
      const now = process.hrtime.bigint();
      for (const id of ids) this.acknowledgedAt.set(id, now);
      await new Promise((resolve) => setTimeout(resolve, 5 * size));
    }
  }

  private async pass(): Promise<void> {
    while (!this.isEnding) {
      await this.passing.addBulk(
        Array.from({ length: 20 }, () => ({ name: 'job', data: { body: 'x'.repeat(1_000) } })),
      );
    }
  }
}
