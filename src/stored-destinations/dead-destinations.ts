import type { DeadDestinationEvent } from '../deliveries/delivery-events.js';
import type { DestinationRecord } from '../options/destination-store.js';
import type { AttemptSummary } from '../destinations/destination.js';

/** Status with which a receiver says that it is gone for good. */
const GONE = 410;
/** Time between the warning and the disabling of a destination, in milliseconds: a day … */
const WARNING_TIME = 86_400_000;
/** … or this share of `disableAfter`, if that is less. */
const WARNING_SHARE = 1 / 5;
/**
 * Share of `disableAfter` after which it is stored that every message fails, so that a destination that fails now
 * and then is not written each time.
 */
const RECORD_SHARE = 1 / 120;
/** Maximum number of failing destinations that are not stored as failing yet, and also of those that are. */
const MAX_FAILING = 10_000;

export interface DeadDestinationsParts {
  /**
   * Milliseconds during which every message has to fail for good before a destination is disabled; Infinity for
   * never.
   */
  disableAfter: number;
  /** Stores the time since which every message fails. */
  recordFailing: (id: string, since: number) => Promise<unknown>;
  /** Stores that a message was delivered. */
  recordRecovered: (id: string) => Promise<unknown>;
  /**
   * Disables a destination, unless it is disabled by now, or the store no longer confirms the finding. Resolves to
   * whether it was disabled by this call.
   */
  disable: (id: string, finding: DeadFinding) => Promise<boolean>;
  tell: (event: DeadDestinationEvent) => void;
  onFailed: (id: string, error: unknown) => void;
}

/** Why a destination is to be disabled. */
export interface DeadFinding {
  reason: string;
  /** Hashes of the URLs that have refused messages. By now the destination may have another URL that was not tried. */
  urls: ReadonlySet<string>;
  /** Time since which every message fails; `undefined` to disable the destination whatever time is stored. */
  failingSince: number | undefined;
}

/** What this process knows about a failing destination. */
interface FailingDestination {
  /** Time of the first failure that this process saw, or the stored time as soon as there is one. */
  since: number;
  isRecorded: boolean;
  isWarned: boolean;
  isDisabled: boolean;
}

/** Whether every URL says that it is gone. While one of them works, only the time counts. */
function saysGone({ outcomes }: AttemptSummary['failed'][number]): boolean {
  return outcomes.length > 0 && outcomes.every(({ status }) => status === GONE);
}

function urlsOf(messages: AttemptSummary['failed']): ReadonlySet<string> {
  return new Set(messages.flatMap(({ outcomes }) => outcomes.map(({ url }) => url)));
}

/**
 * Disables destinations at run time that have accepted nothing for days, or say that they are gone. Only the state
 * in the store counts: the other processes deliver too, and each stores when a destination has recovered.
 */
export class DeadDestinations {
  /** Failing destinations that the store does not know as failing. */
  private readonly failing = new Map<string, FailingDestination>();
  /** Failing destinations that the store knows as failing. They take no room from `failing`. */
  private readonly recorded = new Map<string, FailingDestination>();
  /** Destinations whose recovery is being stored. */
  private readonly recovering = new Set<string>();

  /**
   * @param now the time, in milliseconds since the epoch
   * @param maxFailing maximum number of destinations in `failing`, and also in `recorded`
   */
  constructor(
    private readonly parts: DeadDestinationsParts,
    private readonly now: () => number = Date.now,
    private readonly maxFailing = MAX_FAILING,
  ) {}

  /**
   * Handles the result of an attempt.
   *
   * @param record the destination as this process knows it
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

  /** Stores that every message fails from now on: what other processes delivered until now is not known here. */
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

  /**
   * Returns what is known about a destination. Starts anew if the store says something else: another process has
   * delivered a message, or somebody has enabled the destination.
   */
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
   * Remembers a destination if there is room. The ones that are remembered already stay: each has to be remembered for
   * a while before its failure can be stored, and then makes room for another. Only a destination that has not failed
   * for days is dropped, since it may be deleted.
   */
  private remember(id: string, found: FailingDestination, now: number): void {
    const remembered = found.isRecorded ? this.recorded : this.failing;
    if (remembered.size >= this.maxFailing) {
      const [oldest] = remembered;
      if (oldest === undefined || now - oldest[1].since < this.parts.disableAfter) {
        // Nothing would remember that the owner was warned, and each failure would warn again.
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
      // Nothing was disabled or stored, so the next failure tries again.
      this.forget(id);
      this.parts.onFailed(id, error);
    });
  }
}
