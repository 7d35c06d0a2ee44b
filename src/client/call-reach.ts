import type { MessageParams } from '../messages/message-params.types.js';
import type { MessageType } from '../messages/message.types.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import type { MessageFactory } from './message-factory.js';
import type { OutgoingMessages } from './outgoing-messages.js';
import { type Reach, reachesOf } from './lookup-wait.js';
import type { Route } from './router.js';

/** Time from giving up a tenant's look-up until calls wait for it again, in milliseconds. */
const WAITED_AGAIN = 15_000;

/** Tells whether any destination takes a call, before the call is made. A call that no destination takes is dropped. */
export class CallReach {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly factory: MessageFactory,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  /** Returns whether any destination takes a call. Never rejects. */
  takes<T extends MessageType>(source: string, type: T, params: MessageParams[T]): Reach | Promise<Reach> {
    const { message, tenant } = this.factory.ofJob(source, type, params);
    const route = this.outgoing.routeOf(source, message, tenant);
    if ('connections' in route) return route.connections.length > 0;
    return reachesOf([route], this.outgoing, this.clock).then(([reach]) => reach);
  }

  /**
   * Resolves to the result of `takes` for each of several calls.
   *
   * @param givenUp tenants whose look-up was given up, each with the time from which calls wait for it again. Before
   *   that, a tenant counts as unknown, unless its destinations are known by now. Tenants whose look-up is given up now
   *   are added
   */
  async takesEach<T extends MessageType>(
    source: string,
    type: T,
    calls: readonly MessageParams[T][],
    givenUp: Map<string, number>,
  ): Promise<readonly Reach[]> {
    const reaches: Reach[] = calls.map(() => undefined);
    const lookups: { place: number; owner: string; route: Promise<Route> }[] = [];
    for (const [place, params] of calls.entries()) {
      const { message, tenant } = this.factory.ofJob(source, type, params);
      const owner = this.outgoing.ownerOf(message, tenant);
      const route = this.outgoing.routeOf(source, message, tenant);
      if ('connections' in route) reaches[place] = route.connections.length > 0;
      else if (this.clock.now() >= (givenUp.get(owner) ?? 0)) lookups.push({ place, owner, route });
      // `routeOf` has begun the look-up once more, so that a later call finds the answer.
      else this.outgoing.abandon(route);
    }
    const answers = await reachesOf(
      lookups.map(({ route }) => route),
      this.outgoing,
      this.clock,
    );
    for (const [index, { place, owner }] of lookups.entries()) {
      reaches[place] = answers[index];
      if (answers[index] === undefined) givenUp.set(owner, this.clock.now() + WAITED_AGAIN);
    }
    return reaches;
  }

  /** Returns whether any destination may take calls like this one, whichever user they are about. Never rejects. */
  mayTake<T extends MessageType>(source: string, type: T, params: MessageParams[T]): Reach | Promise<Reach> {
    const takes = this.varies(source, type, params) || this.takes(source, type, params);
    if (typeof takes !== 'object') return takes;
    // The destinations may have been made meanwhile.
    return takes.then((isTaken) => isTaken === true || this.varies(source, type, params) || isTaken);
  }

  /** Whether calls like this one may have other destinations if they are about other users. */
  varies<T extends MessageType>(source: string, type: T, params: MessageParams[T]): boolean {
    const { message, tenant } = this.factory.ofJob(source, type, params);
    return this.outgoing.variesByMessage(source, message, tenant);
  }
}
