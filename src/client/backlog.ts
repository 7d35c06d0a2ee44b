import { AnalyticsClosedError } from '../errors/analytics-closed.error.js';
import { within } from '../time/within.js';
import { FlushGroup, type TakenMessage } from './taken-message.js';

/** Keeps account of what was taken and is not in the queue yet. */
export class Backlog {
  private readonly groups = new Set<FlushGroup>();
  private readonly waiters: (() => void)[] = [];
  private current = new FlushGroup();
  private bytes = 0;
  /** Settles those who wait for a flush. */
  private readonly releases = new Set<() => void>();
  private hasGivenUp = false;

  /** @param maxBytes bound of it, in bytes of bodies; a body counts once for each destination */
  constructor(private readonly maxBytes: number) {}

  /** The messages that the next flush is the first to wait for. */
  get group(): FlushGroup {
    return this.current;
  }

  /** In messages. */
  get size(): number {
    return sizeOf(this.groups);
  }

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  get isHalfFull(): boolean {
    return this.bytes > this.maxBytes / 2;
  }

  hasRoomFor(bytes: number): boolean {
    return this.bytes + bytes <= this.maxBytes;
  }

  add(message: TakenMessage): void {
    this.bytes += message.bytes * message.copies;
    message.group.enter();
    this.groups.add(message.group);
  }

  /** One copy of each is in the queue. */
  remove(messages: readonly TakenMessage[]): void {
    for (const message of messages) {
      this.bytes -= message.bytes;
      if (--message.copies > 0) continue;
      message.group.leave();
      if (message.group.size === 0) this.groups.delete(message.group);
    }
    this.wake();
  }

  /** Waits, no longer than the timeout, until all that is in it now has left it. */
  async drained(timeout: number | undefined): Promise<{ queued: number; pending: number }> {
    const groups = [...this.groups];
    this.current = new FlushGroup();
    const waiting = sizeOf(groups);
    const settled = this.orGivenUp(Promise.all(groups.map((group) => group.drained())));
    await (timeout === undefined ? settled : within(timeout, settled));
    const pending = sizeOf(groups);
    return { queued: waiting - pending, pending };
  }

  /** Waits for one group; resolves to whether all of it is in the queue. */
  async drainedOf(group: FlushGroup, timeout: number): Promise<boolean> {
    await within(timeout, this.orGivenUp(group.drained()));
    return group.size === 0;
  }

  /** Resolves when something has left it; rejects when that is no longer waited for. */
  nextRemoved(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (this.hasGivenUp) reject(new AnalyticsClosedError());
        else resolve();
      };
      if (this.hasGivenUp) settle();
      else this.waiters.push(settle);
    });
  }

  /** Whoever waits for it waits no longer: the application is shutting down. */
  readonly giveUp = (): void => {
    this.hasGivenUp = true;
    for (const release of this.releases) release();
    this.wake();
  };

  /** Not a race against one promise: that would keep something of every flush for as long as it lives. */
  private orGivenUp(work: Promise<unknown>): Promise<void> {
    if (this.hasGivenUp) return Promise.resolve();
    return new Promise((resolve) => {
      this.releases.add(resolve);
      void work.then(() => {
        this.releases.delete(resolve);
        resolve();
      });
    });
  }

  private wake(): void {
    for (const wake of this.waiters.splice(0)) wake();
  }
}

function sizeOf(groups: Iterable<FlushGroup>): number {
  let size = 0;
  for (const group of groups) size += group.size;
  return size;
}
