import { expect } from '@jest/globals';
import type { QueuedCall } from './audiences-on.js';

/** What an audience comes to after a step. */
export interface Change {
  /** Who is to be in it then. */
  target: ReadonlySet<string>;
  /** Of whom that is known only after the step: the others of a single add or remove are not looked at. */
  looksAt: ReadonlySet<string>;
}

/** An audience as a plain set, with all that receivers were ever told of it. */
export class AudienceModel {
  members: ReadonlySet<string> = new Set();
  /** Users of whom a process that was killed may have said something, recorded or not. */
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

  /** Who comes and who goes. */
  diff({ target }: Change): { added: string[]; removed: string[]; kept: string[] } {
    return {
      added: [...target].filter((userId) => !this.members.has(userId)),
      removed: [...this.members].filter((userId) => !target.has(userId)),
      kept: [...target].filter((userId) => this.members.has(userId)),
    };
  }

  /** Compares with what a change that was carried out has said and recorded. */
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

  /** Compares with what a change that was killed has said and recorded until then. */
  killed(change: Change, recorded: readonly string[], calls: readonly QueuedCall[]): void {
    const changed = this.changedBy(change);
    const heard = this.hear(change, calls);
    expect([...heard].filter((userId) => !changed.includes(userId) && !this.doubted.has(userId))).toEqual([]);
    const now = new Set(recorded);
    const everybody = [...this.members, ...recorded];
    const moved = everybody.filter((userId) => this.members.has(userId) !== now.has(userId));
    // Recorded once its call was in the queue, no earlier, and as it was said.
    expect(moved.filter((userId) => !heard.has(userId))).toEqual([]);
    expect(moved.filter((userId) => change.target.has(userId) !== now.has(userId))).toEqual([]);
    for (const userId of changed) this.doubted.add(userId);
    this.members = now;
  }

  private changedBy(change: Change): string[] {
    const { added, removed } = this.diff(change);
    return [...added, ...removed];
  }

  /** Takes note of calls, of which there is at most one about a user, and true; tells whom they are about. */
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
