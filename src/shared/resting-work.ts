import { type Clock, SYSTEM_CLOCK } from './clock.js';
import { SharedWork } from './shared-work.js';

/** How long the work rests, as a multiple of how long it took. */
const REST = 20;
/** Work that takes less than this many milliseconds does not rest. */
const QUICK = 50;
/** The longest rest, in milliseconds: the work may have taken long because of an outage. */
const LONGEST_REST = 600_000;
/** The same after a failure, whose result is of use to nobody. */
const LONGEST_REST_AFTER_FAILURE = 60_000;

/**
 * Work that is done once for all callers, and then rests for a time that grows with how long it took. So it keeps
 * others from their work for only a small share of the time, however much data it reads. Meanwhile, callers get the
 * last result, or the error if the work failed.
 */
export class RestingWork<T> {
  private last: { result: Promise<T>; restsUntil: number } | undefined;
  private readonly shared: SharedWork<T>;

  constructor(
    work: () => Promise<T>,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.shared = new SharedWork(() => this.renewed(work));
  }

  result(): Promise<T> {
    const { last, clock, shared } = this;
    return last !== undefined && clock.now() < last.restsUntil ? last.result : shared.result();
  }

  private async renewed(work: () => Promise<T>): Promise<T> {
    const begunAt = this.clock.now();
    const result = work();
    const longest = await result.then(
      () => LONGEST_REST,
      () => LONGEST_REST_AFTER_FAILURE,
    );
    const endedAt = this.clock.now();
    const took = endedAt - begunAt;
    const rest = took < QUICK ? 0 : Math.min(REST * took, longest);
    this.last = { result, restsUntil: endedAt + rest };
    return result;
  }
}
