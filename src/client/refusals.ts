import type { Telemetry } from '../shared/telemetry.js';
import type { Refusal } from './admission.js';

/** A flush that has not returned yet. */
export interface RunningFlush {
  /** Number of the last message that was taken before it. */
  readonly upTo: number;
  /** Refused messages that it counts. */
  refused: number;
}

export interface RefusalTerms {
  /** Whether its sender hears of it in another way, so that no flush counts it. @default false */
  isAnswered?: boolean | undefined;
  /** Number of a message that was taken before. @default it was refused at the call */
  number?: number | undefined;
}

/**
 * Counts the messages that are refused: all of them, and each once for a flush. That is the first one that was called
 * after the message and has not returned when the message is refused.
 */
export class Refusals {
  private count = 0;
  /** What the next flush counts. */
  private sinceFlush = 0;
  /** In the order of the calls. */
  private readonly flushes = new Set<RunningFlush>();

  constructor(
    private readonly observer: { onRefused(reason: string): void },
    private readonly telemetry: Pick<Telemetry, 'refused'> | undefined,
  ) {}

  /** Messages that were refused since the start. */
  get total(): number {
    return this.count;
  }

  /** A message is refused, by one destination or several: it counts once, and each reason is logged. */
  add(refusals: readonly Refusal[], terms: RefusalTerms = {}): void {
    const [first] = refusals;
    if (first === undefined) return;
    this.count++;
    if (terms.isAnswered !== true) this.countForFlush(terms.number);
    this.telemetry?.refused(first.kind);
    // Several may have the same reason for the log.
    const reasons = new Set(refusals.map(({ reason, logged = reason }) => logged));
    for (const reason of reasons) this.observer.onRefused(reason);
  }

  /** A flush begins. @param upTo number of the message that was taken last */
  begin(upTo: number): RunningFlush {
    const flush = { upTo, refused: this.sinceFlush };
    this.sinceFlush = 0;
    this.flushes.add(flush);
    return flush;
  }

  /** A flush returns. */
  end(flush: RunningFlush): void {
    this.flushes.delete(flush);
  }

  private countForFlush(number: number | undefined): void {
    // The flushes that still wait were called before one that is refused at the call.
    const flush = number === undefined ? undefined : this.firstAfter(number);
    if (flush === undefined) this.sinceFlush++;
    else flush.refused++;
  }

  private firstAfter(number: number): RunningFlush | undefined {
    for (const flush of this.flushes) if (flush.upTo >= number) return flush;
    return undefined;
  }
}
