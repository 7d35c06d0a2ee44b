import type { AnalyticsClient } from '../client/analytics-client.js';
import type { IdentifyParams } from '../messages/message-params.types.js';
import type { Integrations } from '../messages/message.types.js';
import { TimeSlice } from '../shared/time-slice.js';
import type { AudienceLock } from './audience-lock.js';

/** Calls made in one go, before others get a turn. */
const CALLS_AT_ONCE = 200;

/** Where the calls of a change go. */
export interface Announcement {
  /** Name of the source. */
  source: string;
  integrations: Integrations | undefined;
}

export type IdentifyTaker = Pick<AnalyticsClient, 'awaited' | 'reach'>;

/** The calls that tell destinations of changes. */
export class AudienceCalls {
  constructor(private readonly client: IdentifyTaker) {}

  /** Whether any destination may get the calls of a change. Never rejects. */
  mayReach(trait: string, to: Announcement): boolean | Promise<boolean> {
    return this.client.reach.mayTake(to.source, 'identify', example(trait, to));
  }

  /** Whether any destination would get a call about a user. Never rejects. */
  reachFor(trait: string, to: Announcement, userId: string): boolean | Promise<boolean> {
    return this.client.reach.takes(to.source, 'identify', example(trait, to, userId));
  }

  /** Those of some users about whom any destination would get a call. */
  async reached(trait: string, to: Announcement, userIds: readonly string[]): Promise<readonly string[]> {
    // Nearly always the answer is the same for all.
    if (!this.client.reach.varies(to.source, 'identify', example(trait, to))) return userIds;
    const areReached = await Promise.all(userIds.map(async (userId) => this.reachFor(trait, to, userId)));
    return userIds.filter((_, index) => areReached[index]);
  }

  /** Resolves when the calls are in the queue. */
  async say(
    lock: AudienceLock,
    { source, integrations }: Announcement,
    userIds: readonly string[],
    valueOf: (userId: string) => unknown,
  ): Promise<void> {
    function* calls(users: readonly string[]): Generator<IdentifyParams, void> {
      for (const userId of users) {
        // Without the lock, another process may have sent something newer about this user.
        lock.assertHeld();
        yield { userId, traits: { [lock.trait]: valueOf(userId) }, integrations };
      }
    }
    const slice = new TimeSlice();
    for (let start = 0; start < userIds.length; start += CALLS_AT_ONCE) {
      await this.client.awaited.takeAll(
        source,
        'identify',
        calls(userIds.slice(start, start + CALLS_AT_ONCE)),
      );
      await slice.check();
    }
  }
}

function example(trait: string, { integrations }: Announcement, userId = 'any'): IdentifyParams {
  return { userId, traits: { [trait]: true }, integrations };
}
