import { expect } from '@jest/globals';
import type { QueuedCall } from './audiences-on.js';

/** The expected outcome of a change to an audience. */
export interface Change {
  /** The members that the audience must have after the change. */
  target: ReadonlySet<string>;
  /** Users whose membership the change checks. A single add or remove checks only its own user. */
  looksAt: ReadonlySet<string>;
}

/** Models an audience as a plain set, together with everything that receivers were ever told about it. */
export class AudienceModel {
  members: ReadonlySet<string> = new Set();
  /** Users about whom a killed process may have sent a call, whether or not it recorded the change. */
  private readonly doubted = new Set<string>();
  private readonly told = new Map<string, boolean>();

  constructor(private readonly trait: string) {}

  sync(target: ReadonlySet<string>): Change {
    return { target, looksAt: new Set([...this.members, ...target, ...this.doubted]) };
  }

  add(userId: string): Change {
    return { target: new Set([...this.members, userId]), looksAt: new Set([userId]) };
  }

  remove(userId: string): Change {
    const target = new Set(this.members);
    target.delete(userId);
    return { target, looksAt: new Set([userId]) };
  }

  get hasDoubts(): boolean {
    return this.doubted.size > 0;
  }

  /** Returns who joins, who leaves and who stays. */
  diff({ target }: Change): { added: string[]; removed: string[]; kept: string[] } {
    return {
      added: [...target].filter((userId) => !this.members.has(userId)),
      removed: [...this.members].filter((userId) => !target.has(userId)),
      kept: [...target].filter((userId) => this.members.has(userId)),
    };
  }

  /** Checks what a completed change has sent and recorded. */
  done(change: Change, recorded: readonly string[], calls: readonly QueuedCall[]): void {
    expect(recorded).toEqual([...change.target].sort());
    const changed = this.changedBy(change);
    const heard = this.hear(change, calls);
    expect(changed.filter((userId) => !heard.has(userId))).toEqual([]);
    expect([...heard].filter((userId) => !changed.includes(userId) && !this.doubted.has(userId))).toEqual([]);
    this.members = change.target;
    for (const userId of change.looksAt) {
      this.doubted.delete(userId);
      expect([userId, this.told.get(userId) ?? false]).toEqual([userId, this.members.has(userId)]);
    }
  }

  /** Checks what a change had sent and recorded when its process was killed. */
  killed(change: Change, recorded: readonly string[], calls: readonly QueuedCall[]): void {
    const changed = this.changedBy(change);
    const heard = this.hear(change, calls);
    expect([...heard].filter((userId) => !changed.includes(userId) && !this.doubted.has(userId))).toEqual([]);
    const now = new Set(recorded);
    const everybody = [...this.members, ...recorded];
    const moved = everybody.filter((userId) => this.members.has(userId) !== now.has(userId));
    // A change is recorded only after its call is in the queue, and with the same outcome.
    expect(moved.filter((userId) => !heard.has(userId))).toEqual([]);
    expect(moved.filter((userId) => change.target.has(userId) !== now.has(userId))).toEqual([]);
    for (const userId of changed) this.doubted.add(userId);
    this.members = now;
  }

  private changedBy(change: Change): string[] {
    const { added, removed } = this.diff(change);
    return [...added, ...removed];
  }

  /** Records the calls, checks that each user has at most one and that it is true, and returns their users. */
  private hear({ target, looksAt }: Change, calls: readonly QueuedCall[]): Set<string> {
    const heard = new Set<string>();
    for (const { userId, traits } of calls) {
      expect([userId, traits]).toEqual([userId, { [this.trait]: target.has(userId) }]);
      expect(heard.has(userId) || !looksAt.has(userId)).toBe(false);
      heard.add(userId);
      this.told.set(userId, target.has(userId));
    }
    return heard;
  }
}
