import type { Telemetry } from '../shared/telemetry.js';
import type { Refusal } from './admission.js';

/** A flush that has not returned yet. */
export interface RunningFlush {
  /** Number of the last message that was taken before the flush. */
  readonly upTo: number;
  /** Refused messages that the flush counts. */
  refused: number;
}

export interface RefusalTerms {
  /** Whether the sender learns of the refusal directly, so that no flush counts it. @default false */
  isAnswered?: boolean | undefined;
  /** Number of the message, if it was taken before. @default it was refused at the call */
  number?: number | undefined;
}

/**
 * Counts refused messages: in total, and each once for a flush. This is the first flush that was called after the
 * message and has not returned when the message is refused.
 */
export class Refusals {
  private count = 0;
  /** Refused messages that the next flush counts. */
  private sinceFlush = 0;
  /** Flushes that have not returned, in the order of their calls. */
  private readonly flushes = new Set<RunningFlush>();

  constructor(
    private readonly observer: { onRefused(reason: string): void },
    private readonly telemetry: Pick<Telemetry, 'refused'> | undefined,
  ) {}

  /** Messages refused since the start. */
  get total(): number {
    return this.count;
  }

  /** Counts a refused message once, even if several destinations refuse it, and logs each reason. */
  add(refusals: readonly Refusal[], terms: RefusalTerms = {}): void {
    const [first] = refusals;
    if (first === undefined) return;
    this.count++;
    if (terms.isAnswered !== true) this.countForFlush(terms.number);
    this.telemetry?.refused(first.kind);
    // Several refusals may have the same reason for the log.
    const reasons = new Set(refusals.map(({ reason, logged = reason }) => logged));
    for (const reason of reasons) this.observer.onRefused(reason);
  }

  /** @param upTo number of the message that was taken last */
  begin(upTo: number): RunningFlush {
    const flush = { upTo, refused: this.sinceFlush };
    this.sinceFlush = 0;
    this.flushes.add(flush);
    return flush;
  }

  end(flush: RunningFlush): void {
    this.flushes.delete(flush);
  }

  private countForFlush(number: number | undefined): void {
    // A message without a number is refused at its call, which came after the flushes that still wait.
    const flush = number === undefined ? undefined : this.firstAfter(number);
    if (flush === undefined) this.sinceFlush++;
    else flush.refused++;
  }

  private firstAfter(number: number): RunningFlush | undefined {
    for (const flush of this.flushes) if (flush.upTo >= number) return flush;
    return undefined;
  }
}
