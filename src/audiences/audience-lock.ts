import { randomUUID } from 'node:crypto';
import { AudienceBusyError, AudienceLockLostError } from '../errors/audience.errors.js';
import type {
  AudienceDefinition,
  AudienceHold,
  AudienceLockKind,
  AudienceStore,
} from '../options/audience-store.js';

/** First pause between two attempts to take a lock that is held, in milliseconds. It doubles each time. */
const FIRST_POLL = 5;
/** Longest such pause, in milliseconds. A single change takes milliseconds, and a sync takes up to hours. */
const LONGEST_POLL = { change: 50, sync: 500 };

export interface LockTerms {
  /** Longest wait while another caller holds the lock, in milliseconds. At least one attempt is made in any case. */
  wait: number;
  /** Time at which the wait began, by `performance.now()`. @default now */
  since?: number;
  /** Milliseconds without a renewal after which the lock is free for others. */
  duration: number;
  /** Ends the wait when it is aborted. Work under the lock then ends at its next check. */
  signal?: AbortSignal;
}

/**
 * A lock in the store that this process holds, and renews until it is released. Does not keep the process alive:
 * whoever works under the lock does that until the application has closed.
 */
export class AudienceLock implements AudienceHold {
  private readonly timer: NodeJS.Timeout;
  private cause: unknown;

  private constructor(
    private readonly store: AudienceStore,
    readonly trait: string,
    private readonly kind: AudienceLockKind,
    private readonly duration: number,
    readonly token: string,
    private heldUntil: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.timer = setInterval(() => void this.renew(), duration / 3).unref();
  }

  /** @throws AudienceBusyError */
  static async take(
    store: AudienceStore,
    { trait, name }: AudienceDefinition,
    kind: AudienceLockKind,
    { wait, since = performance.now(), duration, signal }: LockTerms,
  ): Promise<AudienceLock> {
    const token = randomUUID();
    const giveUpAt = since + wait;
    for (let poll = FIRST_POLL; ; poll = Math.min(poll * 2, LONGEST_POLL[kind])) {
      signal?.throwIfAborted();
      // Counted from before the request, so that the lock ends here no later than in the store.
      const askedAt = performance.now();
      if (await store.lock(trait, kind, token, duration)) {
        return new AudienceLock(store, trait, kind, duration, token, askedAt + duration, signal);
      }
      if (performance.now() >= giveUpAt) throw new AudienceBusyError(name, wait);
      await new Promise((resolve) => setTimeout(resolve, poll).unref());
    }
  }

  /** Call this right before any step that others must not take at the same time. */
  assertHeld(): void {
    this.signal?.throwIfAborted();
    if (performance.now() < this.heldUntil) return;
    throw new AudienceLockLostError(this.trait, { cause: this.cause });
  }

  /**
   * Resolves to whether someone else waits for the lock. If the release fails, the lock expires by itself.
   */
  async release(): Promise<boolean> {
    clearInterval(this.timer);
    this.heldUntil = 0;
    try {
      return await this.store.unlock(this.trait, this.kind, this.token);
    } catch {
      return false;
    }
  }

  /** If no renewal succeeds in time, `assertHeld` reports the failure. */
  private async renew(): Promise<void> {
    const askedAt = performance.now();
    // The lock is lost for good. Renewals would only queue up while the store cannot be reached.
    if (askedAt >= this.heldUntil) return;
    try {
      const renewed = await this.store.renew(this.trait, this.kind, this.token, this.duration);
      if (performance.now() < this.heldUntil) this.heldUntil = renewed ? askedAt + this.duration : 0;
    } catch (error) {
      this.cause = error;
    }
  }
}
