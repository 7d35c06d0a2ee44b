import type { Clock } from '../shared/clock.js';
import { LookupPatience } from './lookup-patience.js';
import type { OutgoingMessages } from './outgoing-messages.js';
import type { Route } from './router.js';

/** Whether any destination takes a call; `undefined` where they could not be looked up in time. */
export type Reach = boolean | undefined;

/**
 * Waits for look-ups together, as long as one after the other is answered. Those that are left then are abandoned.
 * Never rejects: one that fails counts as one that a destination takes, since whoever makes the call hears what is
 * wrong.
 */
export async function reachesOf(
  routes: readonly Promise<Route>[],
  outgoing: Pick<OutgoingMessages, 'canLookUp' | 'abandon'>,
  clock?: Clock,
): Promise<readonly Reach[]> {
  const answers = new Map<Promise<Route>, boolean>();
  if (routes.length > 0) {
    await new Promise<void>((resolve) => {
      let isOver = false;
      const end = (): void => {
        isOver = true;
        patience.end();
        resolve();
      };
      const patience = new LookupPatience(outgoing, end, clock);
      const onAnswer = (route: Promise<Route>, isTaken: boolean): void => {
        if (isOver) return;
        answers.set(route, isTaken);
        if (answers.size === routes.length) end();
        else patience.renew();
      };
      for (const route of routes) {
        route.then(
          ({ connections }) => {
            onAnswer(route, connections.length > 0);
          },
          () => {
            onAnswer(route, true);
          },
        );
      }
    });
  }
  return routes.map((route) => {
    const answer = answers.get(route);
    if (answer === undefined) outgoing.abandon(route);
    return answer;
  });
}
