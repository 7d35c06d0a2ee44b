import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import { LIVE_LIMITS, type LiveFeed, type NumberedEvent } from '../live-feed.js';

interface TimedEvent extends NumberedEvent {
  /** When the event was added, on the clock. */
  at: number;
}

/** A scope that is, or was, watched. */
interface Scope {
  watchedUntil: number;
  latest: number;
  events: TimedEvent[];
}

/** The latest events in memory, for a queue that no other process uses. */
export class LocalLiveFeed implements LiveFeed {
  private readonly scopes = new Map<string, Scope>();

  constructor(private readonly clock: Clock = SYSTEM_CLOCK) {}

  watched(): Promise<string[]> {
    const now = this.clock.now();
    for (const [name, { watchedUntil }] of this.scopes) if (watchedUntil <= now) this.scopes.delete(name);
    return Promise.resolve([...this.scopes.keys()]);
  }

  watch(name: string): Promise<number> {
    const scope = this.scopes.get(name) ?? { watchedUntil: 0, latest: 0, events: [] };
    scope.watchedUntil = this.clock.now() + LIVE_LIMITS.watchTime;
    this.removeOld(scope);
    this.scopes.set(name, scope);
    return Promise.resolve(scope.latest);
  }

  append(name: string, events: readonly string[], skipped: number): Promise<void> {
    const scope = this.scopes.get(name);
    if (scope === undefined) return Promise.resolve();
    scope.latest += skipped;
    const at = this.clock.now();
    for (const event of events) scope.events.push({ number: ++scope.latest, event, at });
    scope.events.splice(0, scope.events.length - LIVE_LIMITS.keptEvents);
    this.removeOld(scope);
    return Promise.resolve();
  }

  read(name: string, after: number): Promise<NumberedEvent[]> {
    const scope = this.scopes.get(name);
    if (scope === undefined) return Promise.resolve([]);
    this.removeOld(scope);
    const found = scope.events.filter(({ number }) => number > after).slice(0, LIVE_LIMITS.readEvents);
    return Promise.resolve(found.map(({ number, event }) => ({ number, event })));
  }

  private removeOld(scope: Scope): void {
    const oldest = this.clock.now() - LIVE_LIMITS.eventLifetime;
    scope.events = scope.events.filter(({ at }) => at > oldest);
  }
}
