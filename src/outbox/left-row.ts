import type { RowWithoutMessage } from './outbox-store.js';

/** By the clock of the database alone: those of processes may be others. Older versions do not say when it is read again. */
const LEFT =
  /^left to other processes since an age of (?<since>\d+) ms(?:, read again at (?<until>\d+) ms)?: /;

/** What the `problem` of a row says while it is left to processes that know it. Also how long that has been so. */
export class LeftRow {
  private readonly age: number;
  /** Its age when a process that does not know it met it for the first time, later by all the time that does not count. */
  private readonly since: number;

  constructor(row: Pick<RowWithoutMessage, 'age' | 'problem'>) {
    this.age = Math.max(Math.round(row.age), 0);
    const { since, until = since } = LEFT.exec(row.problem ?? '')?.groups ?? {};
    // While it was due and nobody read it, as in an outage of the queue, no process could take it.
    const missed = Math.max(this.age - Number(until), 0);
    this.since = since === undefined ? this.age : Number(since) + missed;
  }

  /** Milliseconds for which it has been left. */
  get leftFor(): number {
    return this.age - this.since;
  }

  /** What to write beside it. @param delay milliseconds until it is read again */
  problem(reason: string, delay: number): string {
    return `left to other processes since an age of ${this.since} ms, read again at ${this.age + delay} ms: ${reason}`;
  }
}
