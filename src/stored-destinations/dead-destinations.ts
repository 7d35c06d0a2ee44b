import type { DeadDestinationEvent } from '../deliveries/delivery-events.js';
import type { DestinationRecord } from '../options/destination-store.js';
import type { AttemptSummary } from '../destinations/destination.js';

/** A receiver says with it that it is gone for good. */
const GONE = 410;
/** How long before a destination is disabled its owner is warned, in milliseconds: a day … */
const WARNING_TIME = 86_400_000;
/** … or this share of the time, where that is less. */
const WARNING_SHARE = 1 / 5;
/**
 * Share of the time after which it is stored since when every message fails. A destination that fails now and
 * then is not written each time.
 */
const RECORD_SHARE = 1 / 120;
/** Destinations that fail, and are remembered. */
const MAX_FAILING = 10_000;

export interface DeadDestinationsParts {
  /** Milliseconds during which every message failed for good; Infinity for never. */
  disableAfter: number;
  /** Remembers since when every message fails; `undefined`: one was delivered. */
  record: (id: string, failingSince: number | undefined) => Promise<unknown>;
  disable: (id: string, reason: string) => Promise<unknown>;
  tell: (event: DeadDestinationEvent) => void;
  onFailed: (id: string, error: unknown) => void;
}

/** What this process knows of a destination. */
interface FailingDestination {
  since: number;
  isRecorded: boolean;
  isWarned: boolean;
  isDisabled: boolean;
}

/** Disables destinations at run time that have taken nothing for days, or say that they are gone. */
export class DeadDestinations {
  private readonly failing = new Map<string, FailingDestination>();
  /** Destinations whose recovery is being stored. */
  private readonly recovering = new Set<string>();

  /** @param now the time, in milliseconds since the epoch */
  constructor(
    private readonly parts: DeadDestinationsParts,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * The result of an attempt.
   *
   * @param record the destination as it is known here
   */
  attempted(record: DestinationRecord, { delivered, failed }: AttemptSummary): void {
    if (delivered.length > 0) this.recovered(record);
    else if (failed.length > 0) this.failed(record, failed, this.now());
  }

  private recovered({ id, failingSince }: DestinationRecord): void {
    const isRecorded = this.failing.get(id)?.isRecorded ?? failingSince !== undefined;
    this.failing.delete(id);
    if (!isRecorded || this.recovering.has(id)) return;
    this.recovering.add(id);
    const recorded = this.parts.record(id, undefined).finally(() => this.recovering.delete(id));
    this.run(id, recorded);
  }

  private failed(record: DestinationRecord, messages: AttemptSummary['failed'], now: number): void {
    const { id } = record;
    const known = this.failingOf(record, now);
    if (known.isDisabled) return;
    const { disableAfter } = this.parts;
    const { since } = known;
    const isGone = messages.some(({ outcomes }) => outcomes.some(({ status }) => status === GONE));
    if (isGone || now - since >= disableAfter) {
      known.isDisabled = true;
      const reason = isGone
        ? 'it answered 410, which means that it is gone'
        : `every message has failed since ${new Date(since).toISOString()}`;
      this.run(
        id,
        this.parts.disable(id, reason).then(() => {
          this.failing.delete(id);
          this.parts.tell({ type: 'disabled', destination: id, reason, since });
        }),
      );
      return;
    }
    const warningTime = Math.min(WARNING_TIME, disableAfter * WARNING_SHARE);
    if (!known.isWarned && now - since >= disableAfter - warningTime) {
      known.isWarned = true;
      const reason = `every message has failed since ${new Date(since).toISOString()}`;
      this.parts.tell({ type: 'disabling', destination: id, reason, since });
    }
    if (!known.isRecorded && now - since >= disableAfter * RECORD_SHARE) {
      known.isRecorded = true;
      this.run(id, this.parts.record(id, since));
    }
  }

  private failingOf({ id, failingSince }: DestinationRecord, now: number): FailingDestination {
    let known = this.failing.get(id);
    if (known === undefined) {
      const isRecorded = failingSince !== undefined;
      known = { since: failingSince ?? now, isRecorded, isWarned: false, isDisabled: false };
      // Deleted destinations would stay in it forever.
      if (this.failing.size >= MAX_FAILING) this.failing.clear();
      this.failing.set(id, known);
    }
    return known;
  }

  private run(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      // It was not disabled or written, so the next failure tries again.
      this.failing.delete(id);
      this.parts.onFailed(id, error);
    });
  }
}
