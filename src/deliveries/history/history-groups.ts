import type { Clock } from '../../shared/clock.js';
import { HistoryGroup } from './history-group.js';
import type { HistoryLog } from './history-log.js';

/** Milliseconds without an answer from the store after which a group is late. */
const LATE = 2_000;
/** How long the store may be away before this is logged, in milliseconds. */
const PATIENCE = 60_000;

export interface HistoryGroupsParts {
  log: HistoryLog;
  clock: Clock;
  /** Whether the queue can be used. While it cannot, the log says so already. */
  isQueueUp: () => boolean;
}

/**
 * The groups of destinations. Each is written alone, but the log covers all of them together: it reports that
 * deliveries outpace the writes only if the store answers for every group.
 */
export class HistoryGroups {
  private readonly groups = new Map<number, HistoryGroup>();
  private readonly busy = new Set<HistoryGroup>();
  private readonly failing = new Set<HistoryGroup>();
  /** How often the store has taken a part of any group. */
  private answers = 0;
  /** How often there was no room for entries. */
  private losses = 0;
  /** The same, when everything was last written. */
  private lossesBefore = 0;

  constructor(private readonly parts: HistoryGroupsParts) {}

  /** Whether the store has taken nothing of some group for a while. */
  get isAnyLate(): boolean {
    return this.isLate(this.oldest);
  }

  /** Whether a write is in progress for a group that has not failed. */
  get isAnyWellBusy(): boolean {
    return [...this.busy].some(({ failure }) => failure === undefined);
  }

  /** Writes in progress. */
  get work(): Promise<void>[] {
    return [...this.busy].flatMap(({ work }) => work ?? []);
  }

  isBusy(number: number): boolean {
    const group = this.groups.get(number);
    return group !== undefined && this.busy.has(group);
  }

  /** Returns whether a group has no write in progress, and its last write has not failed. */
  isReady(number: number): boolean {
    const group = this.groups.get(number);
    return group === undefined || !(this.busy.has(group) || this.failing.has(group));
  }

  /** Returns whether the store has taken nothing of a group for a while, but something of other groups. */
  isBehindOthers(number: number): boolean {
    const group = this.groups.get(number);
    return group !== undefined && this.isLate(group) && group.answersBefore < this.answers;
  }

  /** Called when there was no room for deliveries. */
  onLost(deliveries: number): void {
    this.losses++;
    this.parts.log.onLost(deliveries);
    const [failing] = this.failing;
    if (failing !== undefined) this.parts.log.onAway(failing.failure);
  }

  /** Called when a write of a group begins. */
  begin(number: number): HistoryGroup {
    let group = this.groups.get(number);
    if (group === undefined) this.groups.set(number, (group = new HistoryGroup()));
    group.lossesBefore = group.lossesAtAnswer = this.losses;
    if (group.waitingSince === undefined) {
      group.waitingSince = this.parts.clock.now();
      group.answersBefore = this.answers;
    }
    this.busy.add(group);
    return group;
  }

  /** Called when the store has taken a part of the group. */
  onAnswer(group: HistoryGroup): void {
    group.lossesAtAnswer = this.losses;
    group.answersBefore = ++this.answers;
    if (group.failure === undefined) group.waitingSince = this.parts.clock.now();
    if (group.lossesBefore !== this.losses && this.haveAllAnswered) this.parts.log.onBehind();
  }

  /** Called when the store has not taken the rest of the group. */
  onFailure(group: HistoryGroup, failure: unknown): void {
    this.busy.delete(group);
    this.failing.add(group);
    group.failure = failure;
    if (group.lossesBefore !== this.losses) this.parts.log.onAway(failure);
  }

  /** Called when the store has taken all of the group. */
  onWritten(group: HistoryGroup): void {
    this.busy.delete(group);
    this.failing.delete(group);
    group.failure = undefined;
    group.waitingSince = undefined;
    if (group.lossesBefore !== this.losses || !this.keepUp) return;
    this.lossesBefore = this.losses;
    this.parts.log.onWritten();
  }

  /** Logs that the store is away if a group has waited for too long. */
  check(): void {
    const { oldest } = this;
    if (this.waitOf(oldest) >= PATIENCE && this.parts.isQueueUp()) this.parts.log.onAway(oldest?.failure);
  }

  /** Whether no group is known to be away: the store has taken a part of each since there was first no room. */
  private get haveAllAnswered(): boolean {
    const { busy, failing, lossesBefore } = this;
    return failing.size === 0 && [...busy].every(({ lossesAtAnswer }) => lossesAtAnswer > lossesBefore);
  }

  /** Whether nothing is missing from the writes in progress. */
  private get keepUp(): boolean {
    const { busy, failing, losses } = this;
    return failing.size === 0 && !this.isAnyLate && [...busy].every((group) => group.lossesBefore === losses);
  }

  /** The group that has waited longest. */
  private get oldest(): HistoryGroup | undefined {
    let oldest: HistoryGroup | undefined;
    for (const group of this.groups.values()) if (this.waitOf(group) > this.waitOf(oldest)) oldest = group;
    return oldest;
  }

  private isLate(group: HistoryGroup | undefined): boolean {
    return this.waitOf(group) >= LATE;
  }

  /** Returns the milliseconds since the `waitingSince` of a group; less than 0 if nothing is due. */
  private waitOf(group: HistoryGroup | undefined): number {
    if (group?.waitingSince === undefined) return -Infinity;
    return this.parts.clock.now() - group.waitingSince;
  }
}
