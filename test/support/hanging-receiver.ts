import { DeliveriesService, type EndpointEvent } from '../../src/index.js';
import type { TestConnection } from './describe-backend.js';
import { type Stage, webhooksTo } from './stage.js';

/** Times in milliseconds. */
export interface HangingPlan {
  eventsPerSecond: number;
  /** How long events are sent. */
  duration: number;
  /** Timeout of a request to the hanging receiver. */
  timeout: number;
  retryWindow: number;
  /** Time after the end of the last message's retry window, within which all messages have to end. */
  patience: number;
}

export interface HangingResult {
  tracked: number;
  /** Messages to the hanging receiver that failed for good in time. */
  ended: number;
  /** Messages that did not, as counted by the queue. */
  waiting: number;
  /** Requests that each neighbour received. */
  delivered: number[];
  /** Milliseconds from the call to the arrival at a neighbour. */
  latencies: number[];
  /** Destinations that were reported as down. */
  down: string[];
}

/** Sends the same events to a receiver that accepts requests and never answers, and to two that answer. */
export async function runHanging(
  stage: Stage,
  connection: TestConnection,
  { eventsPerSecond, duration, timeout, retryWindow, patience }: HangingPlan,
): Promise<HangingResult> {
  const calledAt = new Map<string, number>();
  const latencies: number[] = [];
  const neighbours = await Promise.all(
    [0, 1].map(() =>
      stage.receiver({
        answer: ({ headers }) => {
          const at = calledAt.get(String(headers['webhook-id']));
          if (at !== undefined) latencies.push(performance.now() - at);
          return 200;
        },
      }),
    ),
  );
  const hanging = await stage.receiver({ answer: () => () => undefined });
  const app = await stage.app({
    connection,
    shutdownTimeout: 1_000,
    flushAfter: 100,
    webhooks: [
      webhooksTo(hanging, { id: 'hanging', timeout, retryWindow }),
      ...neighbours.map((receiver, index) => webhooksTo(receiver, { id: `neighbour-${index}` })),
    ],
  });
  const deliveries = app.context.get(DeliveriesService);
  const ended = new Set<string>();
  const events: EndpointEvent[] = [];
  deliveries.outcomes$.subscribe((outcome) => {
    if (outcome.class === 'failed') ended.add(outcome.messageId);
  });
  deliveries.endpoints$.subscribe((event) => events.push(event));

  const tracked = (duration / 1_000) * eventsPerSecond;
  const start = performance.now();
  for (let n = 0; n < tracked; n++) {
    await until(start + (n * 1_000) / eventsPerSecond);
    calledAt.set(app.analytics.track({ userId: 'u1', event: 'Paced' }), performance.now());
  }
  const deadline = performance.now() + retryWindow + patience;
  while (ended.size < tracked && performance.now() < deadline) await until(performance.now() + 50);
  // A message ends a moment before its job does.
  let waiting = await waitingIn(deliveries);
  while (waiting > 0 && performance.now() < deadline) {
    await until(performance.now() + 50);
    waiting = await waitingIn(deliveries);
  }
  return {
    tracked,
    ended: ended.size,
    waiting,
    delivered: neighbours.map(({ requests }) => requests.length),
    latencies,
    down: [...new Set(events.filter(({ type }) => type === 'down').map(({ destination }) => destination))],
  };
}

async function waitingIn(deliveries: DeliveriesService): Promise<number> {
  const { waiting, active, delayed } = await deliveries.counts();
  return waiting + active + delayed;
}

async function until(time: number): Promise<void> {
  const wait = time - performance.now();
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
}
