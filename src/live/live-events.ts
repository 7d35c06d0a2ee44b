import type { OnApplicationShutdown } from '@nestjs/common';
import { AnalyticsError } from '../errors/analytics.error.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { isTenantName } from '../options/tenant-name.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { type LiveCall, type LiveEvent, liveEvent, type LiveOutcome } from './live-event.js';
import { ALL_EVENTS, type LiveFeed } from './live-feed.js';

/** How often this process asks whether anybody watches, while calls are made, in milliseconds. */
const CHECK_INTERVAL = 2_000;
/** How often events are added to the feed, in milliseconds. */
const APPEND_INTERVAL = 250;
/** Maximum number of a scope's events added at once. The rest are only counted, so watching never slows a process. */
const MAX_EVENTS = 50;
/**
 * Maximum number of events of all scopes that wait until it is known whether anybody watches. The rest are only
 * counted, except in scopes that were watched before.
 */
const MAX_UNDECIDED = 500;
/**
 * Maximum number of scopes for which events wait, or are counted, until it is known who watches. Scopes that were
 * watched before are always admitted. A sender over HTTP may name any number of tenants.
 */
const MAX_SCOPES = 10_000;

/** Events of a scope that are not in the feed yet. */
interface Waiting {
  /** JSON texts of the events. */
  events: string[];
  skipped: number;
}

export interface LiveEventsParts {
  feed: Pick<LiveFeed, 'watched' | 'append'>;
  /** Returns the tenant of a message if neither the call nor the source names one. */
  tenantOf: (message: AnalyticsMessage) => string | undefined;
  /** @default the system's */
  clock?: Clock;
}

/**
 * Shows calls to those who watch, in any process. While calls are made, the feed is asked every two seconds whether
 * anybody watches. If nobody does, a call costs no more than a look at a flag. The first calls after a pause wait in
 * memory for the answer, so that somebody who watches a quiet application misses nothing.
 */
export class LiveEvents implements OnApplicationShutdown {
  private readonly clock: Clock;
  /** The scopes that are watched; `undefined` while that is not known. */
  private watched: ReadonlySet<string> | undefined;
  /** Scopes that were watched when last known. Most often they still are, and other scopes must not crowd them out. */
  private lastWatched: ReadonlySet<string> = new Set();
  private waiting = new Map<string, Waiting>();
  /** Number of events that wait until it is known who watches. */
  private undecided = 0;
  private isChecking = false;
  private checkTimer: Timer | undefined;
  private appendTimer: Timer | undefined;
  /** Errors that were shown when they were thrown, and that come here again when they are caught. */
  private readonly shown = new WeakSet<object>();
  private isClosed = false;

  constructor(private readonly parts: LiveEventsParts) {
    this.clock = parts.clock ?? SYSTEM_CLOCK;
  }

  /** Whether somebody watches, or may watch. Check this before doing any work for `add`. */
  get isWatched(): boolean {
    return this.watched?.size !== 0;
  }

  /** Called when somebody has begun to watch in this process. Other processes learn of it at their next check. */
  onWatched(): void {
    this.watched = undefined;
  }

  /**
   * Shows what became of a call. Never throws.
   *
   * @param forTenant the reason without what only the operator may know
   * @param isForTenant whether the tenant sees it as well
   */
  add(outcome: LiveOutcome, call: LiveCall, reason?: string, forTenant = reason, isForTenant = true): void {
    if (this.isClosed || !this.isWatched) return;
    const isFull = this.watched === undefined && this.undecided >= MAX_UNDECIDED;
    const tenant = this.ownerOf(call);
    const scopes = isForTenant && isTenantName(tenant) ? [ALL_EVENTS, tenant] : [ALL_EVENTS];
    let event: string | undefined;
    let told = reason;
    for (const scope of scopes) {
      const waiting = this.waitingOf(scope);
      if (waiting === undefined) continue;
      const isLate = isFull && !this.lastWatched.has(scope);
      if (isLate || waiting.events.length >= MAX_EVENTS) waiting.skipped++;
      else {
        const due = scope === ALL_EVENTS ? reason : forTenant;
        // Most often both scopes get the same text.
        if (event === undefined || due !== told) event = textOf(outcome, call, tenant, due);
        told = due;
        waiting.events.push(event);
      }
    }
    if (this.watched !== undefined) {
      if (this.waiting.size > 0) this.appendSoon();
      return;
    }
    if (event !== undefined) this.undecided++;
    this.check();
  }

  /** Shows that a call was refused with an error, once for each error. */
  addError(error: unknown, call: LiveCall): void {
    if (!this.isWatched || typeof error !== 'object' || error === null || this.shown.has(error)) return;
    this.shown.add(error);
    if (error instanceof AnalyticsError) this.add('refused', call, error.message);
    // The texts of other errors may hold contents of the call.
    else this.add('refused', call, `it threw ${thrownAt(error)}`, 'it threw');
  }

  onApplicationShutdown(): void {
    this.isClosed = true;
    this.checkTimer?.cancel();
    this.appendTimer?.cancel();
    this.waiting.clear();
  }

  private ownerOf({ tenant, message }: LiveCall): string | undefined {
    if (tenant !== undefined || message === undefined) return tenant;
    try {
      const owner: unknown = this.parts.tenantOf(message);
      return typeof owner === 'string' ? owner : undefined;
    } catch {
      // The message is refused for this reason, and the refusal is shown.
      return undefined;
    }
  }

  /** Returns a scope's waiting events; `undefined` if nobody watches it, or too many other scopes may be watched. */
  private waitingOf(scope: string): Waiting | undefined {
    let waiting = this.waiting.get(scope);
    if (waiting !== undefined) return waiting;
    const hasRoom = this.waiting.size < MAX_SCOPES || this.lastWatched.has(scope);
    if (!(this.watched?.has(scope) ?? hasRoom)) return undefined;
    this.waiting.set(scope, (waiting = { events: [], skipped: 0 }));
    return waiting;
  }

  private check(): void {
    if (this.isChecking || this.isClosed) return;
    this.isChecking = true;
    const scopes = this.parts.feed.watched().then(
      (names) => (this.lastWatched = new Set(names)),
      // Those who watch learn from their own stream that the database is away.
      () => new Set<string>(),
    );
    void scopes.then((watched) => {
      this.isChecking = false;
      this.use(watched);
    });
  }

  private use(watched: ReadonlySet<string>): void {
    if (this.isClosed) return;
    this.watched = watched;
    this.undecided = 0;
    for (const scope of this.waiting.keys()) if (!watched.has(scope)) this.waiting.delete(scope);
    // A timer may be left from before somebody began to watch in this process.
    this.checkTimer?.cancel();
    this.checkTimer = this.clock.afterUnlessIdle(CHECK_INTERVAL, () => {
      this.watched = undefined;
    });
    if (this.waiting.size > 0) this.append();
  }

  private appendSoon(): void {
    this.appendTimer ??= this.clock.afterUnlessIdle(APPEND_INTERVAL, () => {
      this.appendTimer = undefined;
      if (this.watched === undefined) this.check();
      else this.append();
    });
  }

  private append(): void {
    const taken = this.waiting;
    this.waiting = new Map();
    for (const [scope, { events, skipped }] of taken) {
      // Those who watch learn from their own stream that the database is away, and see later events once it is back.
      this.parts.feed.append(scope, events, skipped).catch(() => undefined);
    }
  }
}

function textOf(
  outcome: LiveOutcome,
  call: LiveCall,
  tenant: string | undefined,
  reason: string | undefined,
): string {
  const event: LiveEvent = liveEvent(outcome, call, tenant, reason);
  return JSON.stringify(event);
}
