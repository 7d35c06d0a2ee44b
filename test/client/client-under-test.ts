import { AnalyticsClient } from '../../src/client/analytics-client.js';
import type { AnalyticsClientOptions } from '../../src/client/analytics-client.types.js';
import type { Admission } from '../../src/client/admission.js';
import { type Router, type SourceConnection, StaticRouter } from '../../src/client/router.js';
import type { JobSink } from '../../src/client/sender.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import type { Clock } from '../../src/shared/clock.js';
import { FakeClock } from '../support/fake-clock.js';

export function connectionTo(destination: string, source = 'web'): SourceConnection {
  return { source, destination, destinationName: 'Webhooks', failedRetention: 1_000 };
}

/** A queue that answers when and how a test says. */
export class FakeQueue implements JobSink {
  /** Jobs that were added and acknowledged. */
  readonly jobs: NewJob[] = [];
  /** The jobs of each add, whether acknowledged or not. */
  readonly asked: (readonly NewJob[])[] = [];
  /** Milliseconds that an add takes; `Infinity` hangs. */
  delay = 0;
  /** Error that adds fail with. */
  error: Error | undefined;

  constructor(private readonly clock: Clock) {}

  add(jobs: readonly NewJob[]): Promise<void> {
    this.asked.push(jobs);
    return new Promise((resolve, reject) => {
      const { error } = this;
      if (this.delay === Infinity) return;
      this.clock.afterUnlessIdle(this.delay, () => {
        if (error === undefined) this.jobs.push(...jobs);
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** Returns the ids of the queued messages for a destination, in the order in which they were queued. */
  messagesFor(destination: string): string[] {
    return this.jobs
      .flatMap(({ batches }) => batches)
      .filter((batch) => batch.destination === destination)
      .flatMap(({ messages }) => messages.map(({ id }) => id));
  }
}

export interface ClientUnderTest {
  client: AnalyticsClient;
  clock: FakeClock;
  queue: FakeQueue;
  /** What the client has reported: why messages were refused, and how often adds failed. */
  told: { refused: string[]; addsFailed: number };
  /** Tracks a message for each id. */
  track: (...ids: string[]) => void;
}

export interface ClientSetup {
  router?: (clock: FakeClock) => Router;
  admission?: Admission;
  options?: Partial<AnalyticsClientOptions>;
}

/** Returns a client whose clock and queue the test controls. */
export function clientUnderTest({ router, admission, options }: ClientSetup = {}): ClientUnderTest {
  const clock = new FakeClock();
  const queue = new FakeQueue(clock);
  const told: ClientUnderTest['told'] = { refused: [], addsFailed: 0 };
  const client = new AnalyticsClient(
    {
      router: router?.(clock) ?? new StaticRouter({ connections: [connectionTo('one')] }),
      sink: queue,
      clock,
      admission,
      observer: {
        onRefused: (reason) => told.refused.push(reason),
        onAddFailed: () => told.addsFailed++,
        onClosed: () => undefined,
      },
    },
    {
      context: {},
      flushAt: 20,
      flushAfter: 5_000,
      maxBufferedBytes: 64 * 1024 * 1024,
      beforeSend: undefined,
      ...options,
    },
  );
  const track = (...ids: string[]): void => {
    for (const messageId of ids) client.take('web', 'track', { userId: 'u1', event: 'Tracked', messageId });
  };
  return { client, clock, queue, told, track };
}

/** Returns `count` ids, the first of which ends in 0. */
export function ids(count: number, prefix = 'm'): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}
