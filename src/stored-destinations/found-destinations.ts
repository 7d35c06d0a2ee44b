import type { Clock } from '../shared/clock.js';
import type { KeptFor } from './kept-for.js';
import type { RunningWork } from './running-work.js';

/** Maximum number of look-ups at once. */
const MAX_LOOKUPS = 16;
/** How long replays wait for slow look-ups, in milliseconds: replays that begin together read the failed jobs once. */
const GATHERING = 1_000;

export interface FoundDestinationsParts {
  /** Looks a destination up. Resolves to `undefined` unless it is one of these and can get its messages now. */
  find: (id: string, among: readonly KeptFor[]) => Promise<{ tenant?: string | undefined } | undefined>;
  /** Delivers everything that is kept for a destination of this tenant. Tenants take turns. */
  replay: (id: string, tenant: string | undefined) => Promise<unknown>;
  /** What was searched for. */
  among: readonly KeptFor[];
  running: RunningWork<KeptFor>;
  /** Aborted when nothing more is to be looked up or delivered. */
  closing: AbortSignal;
  /** Called at once with a destination that could not be looked up or delivered to. */
  onFailed: (id: string, error: unknown) => void;
  clock: Clock;
}

/**
 * Looks up the destinations that a search has found, and delivers what is kept for them. Neither a look-up that takes
 * long nor a destination with very many messages delays the others for long.
 */
export class FoundDestinations {
  private readonly replays: Promise<void>[] = [];
  private gathered: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: FoundDestinationsParts) {}

  /** Resolves when all destinations are looked up. Messages are delivered meanwhile. */
  async lookUp(ids: ReadonlySet<string>): Promise<void> {
    const { among, running, closing, clock } = this.parts;
    const left = ids.values();
    const lookUpNext = async (): Promise<void> => {
      for (const id of left) if (!closing.aborted) await this.attempt(id, this.find(id));
    };
    const done = Promise.all(Array.from({ length: MAX_LOOKUPS }, lookUpNext));
    const isOver = new Promise<void>((resolve) => {
      clock.afterUnlessIdle(GATHERING, resolve);
    });
    this.gathered = Promise.race([done, isOver]);
    await running.track(among, done);
  }

  /** Resolves when everything is delivered that was kept for the destinations. Call this after `lookUp`. */
  async delivered(): Promise<void> {
    await Promise.all(this.replays);
  }

  private async find(id: string): Promise<void> {
    const { among, running, find } = this.parts;
    const destination = await find(id, among);
    if (destination === undefined) return;
    const replay = this.replay(id, destination.tenant);
    this.replays.push(this.attempt(id, running.track([{ id }], replay)));
  }

  private async replay(id: string, tenant: string | undefined): Promise<void> {
    await this.gathered;
    if (!this.parts.closing.aborted) await this.parts.replay(id, tenant);
  }

  private async attempt(id: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.parts.onFailed(id, error);
    }
  }
}
