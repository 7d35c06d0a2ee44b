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
 * Share of the time after which it is stored that every message fails. A destination that fails now and then is
 * not written each time.
 */
const RECORD_SHARE = 1 / 120;
/** Destinations that are remembered before it is stored that they fail, and as many after that. */
const MAX_FAILING = 10_000;

export interface DeadDestinationsParts {
  /** Milliseconds during which every message failed for good; Infinity for never. */
  disableAfter: number;
  /** Stores since when every message fails. */
  recordFailing: (id: string, since: number) => Promise<unknown>;
  /** Stores that a message was delivered. */
  recordRecovered: (id: string) => Promise<unknown>;
  /**
   * Disables a destination, unless it is disabled by now, or the store does not bear the finding out any more.
   * Resolves to whether it did.
   */
  disable: (id: string, finding: DeadFinding) => Promise<boolean>;
  tell: (event: DeadDestinationEvent) => void;
  onFailed: (id: string, error: unknown) => void;
}

/** Why a destination is to be disabled. */
export interface DeadFinding {
  reason: string;
  /** Hashes of the URLs that have refused messages. It may have another by now, of which nothing is known. */
  urls: ReadonlySet<string>;
  /** Since when every message fails; `undefined` if it is disabled whatever the store says of that. */
  failingSince: number | undefined;
}

/** What this process knows of a destination. */
interface FailingDestination {
  /** When the first message failed that this process saw; as soon as the store has a time, that. */
  since: number;
  isRecorded: boolean;
  isWarned: boolean;
  isDisabled: boolean;
}

/** Whether every URL says so: while one of them works, only the time counts. */
function saysGone({ outcomes }: AttemptSummary['failed'][number]): boolean {
  return outcomes.length > 0 && outcomes.every(({ status }) => status === GONE);
}

function urlsOf(messages: AttemptSummary['failed']): ReadonlySet<string> {
  return new Set(messages.flatMap(({ outcomes }) => outcomes.map(({ url }) => url)));
}

/**
 * Disables destinations at run time that have taken nothing for days, or say that they are gone. Only what the
 * store says counts: the other processes deliver too, and each stores it when a destination has recovered.
 */
export class DeadDestinations {
  /** Of which it is not stored that they fail. */
  private readonly failing = new Map<string, FailingDestination>();
  /** Of which it is. They do not take the room of those above. */
  private readonly recorded = new Map<string, FailingDestination>();
  /** Destinations whose recovery is being stored. */
  private readonly recovering = new Set<string>();

  /**
   * @param now the time, in milliseconds since the epoch
   * @param maxFailing destinations that are remembered before it is stored that they fail, and as many after that
   */
  constructor(
    private readonly parts: DeadDestinationsParts,
    private readonly now: () => number = Date.now,
    private readonly maxFailing = MAX_FAILING,
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
    const isRecorded = failingSince !== undefined || this.recorded.has(id);
    this.forget(id);
    if (!isRecorded || this.recovering.has(id)) return;
    this.recovering.add(id);
    const recorded = this.parts.recordRecovered(id).finally(() => this.recovering.delete(id));
    this.run(id, recorded);
  }

  private failed(record: DestinationRecord, messages: AttemptSummary['failed'], now: number): void {
    const { id } = record;
    const known = this.failingOf(record, now);
    if (known.isDisabled) return;
    const { disableAfter } = this.parts;
    const time = now - known.since;
    const reason = `every message has failed since ${new Date(known.since).toISOString()}`;
    const gone = messages.filter(saysGone);
    if (gone.length > 0) {
      const answered = 'it answered 410, which means that it is gone';
      this.disable(id, known, { reason: answered, urls: urlsOf(gone), failingSince: undefined });
    } else if (!known.isRecorded) {
      if (time >= disableAfter * RECORD_SHARE) this.record(id, known, now);
    } else if (time >= disableAfter) {
      this.disable(id, known, { reason, urls: urlsOf(messages), failingSince: known.since });
    } else if (
      !known.isWarned &&
      time >= disableAfter - Math.min(WARNING_TIME, disableAfter * WARNING_SHARE)
    ) {
      known.isWarned = true;
      this.parts.tell({ type: 'disabling', destination: id, reason, since: known.since });
    }
  }

  /** From now on, since what the other processes have delivered until now is not known here. */
  private record(id: string, known: FailingDestination, now: number): void {
    this.forget(id);
    this.remember(id, Object.assign(known, { since: now, isRecorded: true }), now);
    this.run(id, this.parts.recordFailing(id, now));
  }

  private disable(id: string, known: FailingDestination, finding: DeadFinding): void {
    const { reason } = finding;
    known.isDisabled = true;
    const disabled = this.parts.disable(id, finding).then((isDone) => {
      this.forget(id);
      if (isDone) this.parts.tell({ type: 'disabled', destination: id, reason, since: known.since });
    });
    this.run(id, disabled);
  }

  /** Restarts where the store says something else: it was delivered to elsewhere, or enabled by somebody. */
  private failingOf({ id, failingSince }: DestinationRecord, now: number): FailingDestination {
    const known = this.recorded.get(id) ?? this.failing.get(id);
    if (known !== undefined && failingSince === (known.isRecorded ? known.since : undefined)) return known;
    const isRecorded = failingSince !== undefined;
    const found = { since: failingSince ?? now, isRecorded, isWarned: false, isDisabled: false };
    this.forget(id);
    this.remember(id, found, now);
    return found;
  }

  /**
   * Where there is no room, those that fail already keep theirs: each has to be remembered for a while before it can
   * be stored, and then makes room for another. One that has not failed for days loses it; it may be deleted.
   */
  private remember(id: string, found: FailingDestination, now: number): void {
    const remembered = found.isRecorded ? this.recorded : this.failing;
    if (remembered.size >= this.maxFailing) {
      const [oldest] = remembered;
      if (oldest === undefined || now - oldest[1].since < this.parts.disableAfter) {
        // Nobody would know that its owner was warned, and each failure would warn again.
        found.isWarned = true;
        return;
      }
      remembered.delete(oldest[0]);
    }
    remembered.set(id, found);
  }

  private forget(id: string): void {
    this.failing.delete(id);
    this.recorded.delete(id);
  }

  private run(id: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      // It was not disabled or written, so the next failure tries again.
      this.forget(id);
      this.parts.onFailed(id, error);
    });
  }
}
