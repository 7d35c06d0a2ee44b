import { LOOKED_UP_TOO_LATE } from '../client/admission.js';
import type { AnalyticsClient } from '../client/analytics-client.js';
import type { FailedCall } from '../client/awaited-calls.js';
import type { Reach } from '../client/lookup-wait.js';
import { MessageRefusedError } from '../errors/message.errors.js';
import type { IdentifyParams } from '../messages/message-params.types.js';
import type { Integrations } from '../messages/message.types.js';
import { TimeSlice } from '../shared/time-slice.js';
import type { AudienceLock } from './audience-lock.js';

/** Number of calls made at once, before other work may get a turn. */
const CALLS_AT_ONCE = 200;

/** If this many calls of a step are refused and none is taken, the reason is not in the calls themselves. */
const SURELY_SHUT = 100;

/** Source and destinations of the calls of a change. */
export interface Announcement {
  /** Name of the source. */
  source: string;
  integrations: Integrations | undefined;
}

export type IdentifyTaker = Pick<AnalyticsClient, 'awaited' | 'reach'>;

/** Results of the calls about some users. Calls about users in neither list were refused, or not made. */
export interface ToldUsers {
  /** Users whose call is in the queue. */
  told: string[];
  /** Users whose call no destination would get. */
  unreached: string[];
}

/** Makes the calls that announce one change to its destinations. A refused call does not hold up the others. */
export class AudienceCalls {
  /** Tenants that could not be looked up in time, each with the time from which calls wait for it again. */
  private readonly givenUp = new Map<string, number>();
  private refused = 0;
  private hasLostAll = false;
  private firstError: Error | undefined;

  constructor(
    private readonly client: IdentifyTaker,
    private readonly trait: string,
    private readonly to: Announcement,
  ) {}

  /** Whether any destination may get the calls. Never rejects. */
  mayReach(): Reach | Promise<Reach> {
    return this.client.reach.mayTake(this.to.source, 'identify', this.example());
  }

  /** Whether any destination would get the call about a user. Never rejects. */
  reachFor(userId: string): Reach | Promise<Reach> {
    return this.client.reach.takes(this.to.source, 'identify', this.example(userId));
  }

  /** Whether the last destination was lost during the change, so that no further call would reach any. */
  get reachNobody(): boolean {
    return this.hasLostAll;
  }

  /** @throws MessageRefusedError if it is not known whether any destination gets a call; the call counts as refused */
  asKnown(reach: Reach): boolean {
    if (reach === undefined) throw this.client.awaited.refuseUnknown();
    return reach;
  }

  /**
   * Makes the calls about these users. Resolves when all calls that are not refused are in the queue. Makes no more
   * calls once `reachNobody`.
   *
   * @throws the error of a refused call, if all calls go to the same destinations and none gets through
   */
  async tell(
    lock: AudienceLock,
    userIds: readonly string[],
    valueOf: (userId: string) => unknown,
  ): Promise<ToldUsers> {
    const slice = new TimeSlice();
    const { reached, unreached } = await this.split(userIds);
    const told: string[] = [];
    const refusals: MessageRefusedError[] = [];
    for (let start = 0; start < reached.length; start += CALLS_AT_ONCE) {
      const users = reached.slice(start, start + CALLS_AT_ONCE);
      const failed = await this.say(lock, users, valueOf);
      for (const { error } of failed) if (error instanceof MessageRefusedError) refusals.push(error);
      const errors = new Map(failed.map(({ place, error }) => [place, error]));
      told.push(...users.filter((_, place) => !errors.has(place)));
      // The destinations of these users were lost after they had been looked up.
      const lost = users.filter((_, place) => errors.has(place) && errors.get(place) === undefined);
      if (lost.length > 0 && !this.vary) {
        this.hasLostAll = true;
        break;
      }
      unreached.push(...lost);
      if (told.length === 0 && this.isShut(refusals)) this.assertNoneRefused();
      await slice.check();
    }
    return { told, unreached };
  }

  /**
   * Reports refused calls to the caller of the change, once all other calls have been made.
   *
   * @throws MessageRefusedError, or the error of the first refused call
   */
  assertNoneRefused(): void {
    const { firstError, refused } = this;
    if (firstError === undefined) return;
    if (refused === 1 || !(firstError instanceof MessageRefusedError)) throw firstError;
    throw new MessageRefusedError(firstError.reason, refused);
  }

  /** Whether calls about all other users would be refused as well, given that none was taken so far. */
  private isShut(refusals: readonly MessageRefusedError[]): boolean {
    const isUnanswered = refusals.some(({ reason }) => reason === LOOKED_UP_TOO_LATE.reason);
    return (refusals.length >= SURELY_SHUT || isUnanswered) && !this.vary;
  }

  /** Whether calls about other users may have other destinations. */
  private get vary(): boolean {
    return this.client.reach.varies(this.to.source, 'identify', this.example());
  }

  /** Splits users by whether any destination would get their call. If that is not known, the call is refused. */
  private async split(
    userIds: readonly string[],
  ): Promise<{ reached: readonly string[]; unreached: string[] }> {
    // The answer is nearly always the same for all users.
    if (userIds.length === 0 || !this.vary) return { reached: userIds, unreached: [] };
    const reaches = await this.client.reach.takesEach(
      this.to.source,
      'identify',
      userIds.map((userId) => this.example(userId)),
      this.givenUp,
    );
    for (const reach of reaches) if (reach === undefined) this.refuse(this.client.awaited.refuseUnknown());
    return {
      reached: userIds.filter((_, index) => reaches[index] === true),
      unreached: userIds.filter((_, index) => reaches[index] === false),
    };
  }

  /** Makes calls. Resolves to the failed calls, which are not in the queue and will not be. */
  private async say(
    lock: AudienceLock,
    userIds: readonly string[],
    valueOf: (userId: string) => unknown,
  ): Promise<readonly FailedCall[]> {
    const { trait } = this;
    const { source, integrations } = this.to;
    function* calls(): Generator<IdentifyParams, void> {
      for (const userId of userIds) {
        // Without the lock, another process may have sent something newer about this user.
        lock.assertHeld();
        yield { userId, traits: { [trait]: valueOf(userId) }, integrations };
      }
    }
    const failed = await this.client.awaited.takeAll(source, 'identify', calls());
    for (const { error } of failed) if (error !== undefined) this.refuse(error);
    return failed;
  }

  private refuse(error: Error): void {
    this.refused++;
    this.firstError ??= error;
  }

  private example(userId = 'any'): IdentifyParams {
    return { userId, traits: { [this.trait]: true }, integrations: this.to.integrations };
  }
}
