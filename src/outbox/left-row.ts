import type { OutboxRow } from './outbox-store.js';

/** By the clock of the database alone: those of processes may be others. */
const LEFT = /^left to other processes since an age of (?<age>\d+) ms: /;

/** What the `problem` of a row says while it is left to processes that know it. Also how long that has been so. */
export class LeftRow {
  private readonly since: number | undefined;

  constructor(private readonly row: Pick<OutboxRow, 'age' | 'problem'>) {
    const age = LEFT.exec(row.problem ?? '')?.groups?.age;
    this.since = age === undefined ? undefined : Number(age);
  }

  /** Milliseconds since a process that does not know it has met it for the first time. */
  get leftFor(): number {
    return this.since === undefined ? 0 : this.row.age - this.since;
  }

  /** What to write beside it; `undefined` if that is there. */
  problem(reason: string): string | undefined {
    if (this.since !== undefined) return undefined;
    return `left to other processes since an age of ${Math.max(Math.round(this.row.age), 0)} ms: ${reason}`;
  }
}
