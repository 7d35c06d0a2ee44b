import type { Clock } from '../../shared/clock.js';
import { HistoryGroup } from './history-group.js';
import type { HistoryLog } from './history-log.js';

/** How long the store may take nothing of a group before that is late, in milliseconds. */
const LATE = 2_000;
/** How long the store may be away before that is logged, in milliseconds. */
const PATIENCE = 60_000;

export interface HistoryGroupsParts {
  log: HistoryLog;
  clock: Clock;
  /** Whether the queue can be used. While it cannot, the log says so already. */
  isQueueUp: () => boolean;
}

/**
 * The groups of destinations. Each is written alone, but the log tells of all of them together: it says that more is
 * delivered than is written only where each of them answers.
 */
export class HistoryGroups {
  private readonly groups = new Map<number, HistoryGroup>();
  private readonly busy = new Set<HistoryGroup>();
  private readonly failing = new Set<HistoryGroup>();
  /** How often the store has taken a part of any of them. */
  private answers = 0;
  /** How often there was no room for entries. */
  private losses = 0;
  /** The same when all was written the last time. */
  private lossesBefore = 0;

  constructor(private readonly parts: HistoryGroupsParts) {}

  /** Whether the store has taken nothing of one of them for a while. */
  get isAnyLate(): boolean {
    return this.isLate(this.oldest);
  }

  /** Whether something is under way of one of them that has not failed. */
  get isAnyWellBusy(): boolean {
    return [...this.busy].some(({ failure }) => failure === undefined);
  }

  /** What is under way. */
  get work(): Promise<void>[] {
    return [...this.busy].flatMap(({ work }) => work ?? []);
  }

  isBusy(number: number): boolean {
    const group = this.groups.get(number);
    return group !== undefined && this.busy.has(group);
  }

  /** Whether nothing of a group is under way, and nothing has failed. */
  isReady(number: number): boolean {
    const group = this.groups.get(number);
    return group === undefined || !(this.busy.has(group) || this.failing.has(group));
  }

  /** Whether the store has taken nothing of a group for a while, but something of others in that time. */
  isBehindOthers(number: number): boolean {
    const group = this.groups.get(number);
    return group !== undefined && this.isLate(group) && group.answersBefore < this.answers;
  }

  /** There was no room for deliveries. */
  onLost(deliveries: number): void {
    this.losses++;
    this.parts.log.onLost(deliveries);
    const [failing] = this.failing;
    if (failing !== undefined) this.parts.log.onAway(failing.failure);
  }

  /** A write begins. */
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

  /** The store has taken a part of it. */
  onAnswer(group: HistoryGroup): void {
    group.lossesAtAnswer = this.losses;
    group.answersBefore = ++this.answers;
    if (group.failure === undefined) group.waitingSince = this.parts.clock.now();
    if (group.lossesBefore !== this.losses && this.haveAllAnswered) this.parts.log.onBehind();
  }

  /** The store has not taken the rest of it. */
  onFailure(group: HistoryGroup, failure: unknown): void {
    this.busy.delete(group);
    this.failing.add(group);
    group.failure = failure;
    if (group.lossesBefore !== this.losses) this.parts.log.onAway(failure);
  }

  /** The store has taken all of it. */
  onWritten(group: HistoryGroup): void {
    this.busy.delete(group);
    this.failing.delete(group);
    group.failure = undefined;
    group.waitingSince = undefined;
    if (group.lossesBefore !== this.losses || !this.keepUp) return;
    this.lossesBefore = this.losses;
    this.parts.log.onWritten();
  }

  /** Tells of one that has waited for long. */
  check(): void {
    const { oldest } = this;
    if (this.waitOf(oldest) >= PATIENCE && this.parts.isQueueUp()) this.parts.log.onAway(oldest?.failure);
  }

  /** Whether no group is known to be away: each has taken something since there first was no room. */
  private get haveAllAnswered(): boolean {
    const { busy, failing, lossesBefore } = this;
    return failing.size === 0 && [...busy].every(({ lossesAtAnswer }) => lossesAtAnswer > lossesBefore);
  }

  /** Whether nothing is missing of what is written now. */
  private get keepUp(): boolean {
    const { busy, failing, losses } = this;
    return failing.size === 0 && !this.isAnyLate && [...busy].every((group) => group.lossesBefore === losses);
  }

  /** The one that has waited longest. */
  private get oldest(): HistoryGroup | undefined {
    let oldest: HistoryGroup | undefined;
    for (const group of this.groups.values()) if (this.waitOf(group) > this.waitOf(oldest)) oldest = group;
    return oldest;
  }

  private isLate(group: HistoryGroup | undefined): boolean {
    return this.waitOf(group) >= LATE;
  }

  /** For how long the store has taken nothing of what is overdue, in milliseconds; less than 0 if nothing is. */
  private waitOf(group: HistoryGroup | undefined): number {
    if (group?.waitingSince === undefined) return -Infinity;
    return this.parts.clock.now() - group.waitingSince;
  }
}
