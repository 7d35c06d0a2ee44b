import type { Clock } from '../shared/clock.js';
import { LookupPatience } from './lookup-patience.js';
import type { OutgoingMessages } from './outgoing-messages.js';
import type { Route } from './router.js';

/** Whether any destination takes a call; `undefined` if the destinations could not be looked up in time. */
export type Reach = boolean | undefined;

/**
 * Waits for all look-ups together, as long as one after the other is answered. Abandons the rest. Never rejects: if a
 * look-up fails, its call counts as taken, since the caller then learns what is wrong.
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
