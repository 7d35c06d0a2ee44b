import type { RowWithoutMessage } from './outbox-store.js';

/** Ages are by the database's clock alone, since other clocks may differ. Older versions write no `until`. */
const LEFT =
  /^left to other processes since an age of (?<since>\d+) ms(?:, read again at (?<until>\d+) ms)?: /;

/** The `problem` of a row while it is left to processes that know it. Tells how long it has been left. */
export class LeftRow {
  private readonly age: number;
  /** Age of the row when a process that does not know it first read it, plus all time that does not count. */
  private readonly since: number;

  constructor(row: Pick<RowWithoutMessage, 'age' | 'problem'>) {
    this.age = Math.max(Math.round(row.age), 0);
    const { since, until = since } = LEFT.exec(row.problem ?? '')?.groups ?? {};
    // Time while the row was due but unread, as in an outage of the queue, does not count: no process could take it.
    const missed = Math.max(this.age - Number(until), 0);
    this.since = since === undefined ? this.age : Number(since) + missed;
  }

  /** Milliseconds for which the row has been left. */
  get leftFor(): number {
    return this.age - this.since;
  }

  /** Returns the `problem` to write. @param delay milliseconds until the row is read again */
  problem(reason: string, delay: number): string {
    return `left to other processes since an age of ${this.since} ms, read again at ${this.age + delay} ms: ${reason}`;
  }
}
