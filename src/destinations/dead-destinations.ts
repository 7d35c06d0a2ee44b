import type { DeadDestinationEvent } from '../deliveries/delivery-events.js';
import type { DestinationRecord } from '../options/destination-store.js';
import type { AttemptSummary } from './destination.js';

/** A receiver says with it that it is gone for good. */
const GONE = 410;
/** How long before a destination is disabled its owner is warned, in milliseconds: a day … */
const WARNING_TIME = 86_400_000;
/** … or this share of the time, where that is less. */
const WARNING_SHARE = 1 / 5;
/**
 * Share of the time after which the store is told since when every message fails. A destination that fails
 * now and then is not written each time.
 */
const RECORD_SHARE = 1 / 120;
/** Destinations that fail, and are remembered. */
const MAX_TROUBLES = 10_000;

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
interface Trouble {
  since: number;
  isRecorded: boolean;
  isWarned: boolean;
  isDisabled: boolean;
}

/** Disables destinations at run time that have taken nothing for days, or say that they are gone. */
export class DeadDestinations {
  private readonly troubles = new Map<string, Trouble>();
  /** Destinations of which the store is being told that they recovered. */
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
    const isRecorded = this.troubles.get(id)?.isRecorded ?? failingSince !== undefined;
    this.troubles.delete(id);
    if (!isRecorded || this.recovering.has(id)) return;
    this.recovering.add(id);
    const recorded = this.parts.record(id, undefined).finally(() => this.recovering.delete(id));
    this.run(id, recorded);
  }

  private failed(record: DestinationRecord, messages: AttemptSummary['failed'], now: number): void {
    const { id } = record;
    const trouble = this.troubleOf(record, now);
    if (trouble.isDisabled) return;
    const { disableAfter } = this.parts;
    const { since } = trouble;
    const isGone = messages.some(({ outcomes }) => outcomes.some(({ status }) => status === GONE));
    if (isGone || now - since >= disableAfter) {
      trouble.isDisabled = true;
      const reason = isGone
        ? 'it answered 410, which means that it is gone'
        : `every message has failed since ${new Date(since).toISOString()}`;
      this.run(
        id,
        this.parts.disable(id, reason).then(() => {
          this.troubles.delete(id);
          this.parts.tell({ type: 'disabled', destination: id, reason, since });
        }),
      );
      return;
    }
    const warningTime = Math.min(WARNING_TIME, disableAfter * WARNING_SHARE);
    if (!trouble.isWarned && now - since >= disableAfter - warningTime) {
      trouble.isWarned = true;
      const reason = `every message has failed since ${new Date(since).toISOString()}`;
      this.parts.tell({ type: 'disabling', destination: id, reason, since });
    }
    if (!trouble.isRecorded && now - since >= disableAfter * RECORD_SHARE) {
      trouble.isRecorded = true;
      this.run(id, this.parts.record(id, since));
    }
  }

  private troubleOf({ id, failingSince }: DestinationRecord, now: number): Trouble {
    let trouble = this.troubles.get(id);
    if (trouble === undefined) {
      const isRecorded = failingSince !== undefined;
      trouble = { since: failingSince ?? now, isRecorded, isWarned: false, isDisabled: false };
      // Those of deleted destinations stay behind.
      if (this.troubles.size >= MAX_TROUBLES) this.troubles.clear();
      this.troubles.set(id, trouble);
    }
    return trouble;
  }

  private run(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      // It was not disabled or written, so the next failure tries again.
      this.troubles.delete(id);
      this.parts.onFailed(id, error);
    });
  }
}
