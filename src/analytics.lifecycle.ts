import type {
  BeforeApplicationShutdown,
  Logger,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleDestroy,
} from '@nestjs/common';
import type { AnalyticsClient } from './client/analytics-client.js';
import type { Losses } from './client/client-core.types.js';
import type { DeliveryEvents } from './deliveries/delivery-events.js';
import type { HistoryRecorder } from './deliveries/history/history-recorder.js';
import type { WaitingSampler } from './deliveries/history/waiting-sampler.js';
import { countOf } from './shared/count-of.js';
import type { DestinationsEnd } from './stored-destinations/destinations-end.js';
import type { DeliveryWorker } from './delivery/delivery-worker.js';
import type { UnfinishedDeletions } from './deliveries/unfinished-deletions.js';
import type { UserEraser } from './deliveries/user-eraser.js';
import type { WebhookClients } from './webhooks/http/webhook-clients.js';
import type { Outbox } from './outbox/outbox.js';
import type { BacklogCounter } from './queue/backlog-counter.js';
import type { BacklogUpkeep } from './queue/backlog-upkeep.js';
import type { PartitionWatch } from './queue/partition-watch.js';
import type { QueueBackend } from './queue/queue-backend.js';
import type { QueuePartitions } from './queue/queue-partitions.js';
import type { ApplicationEnd } from './shared/application-end.js';
import { within } from './shared/within.js';

/** The end of `shutdownTimeout` is reserved: this part to give jobs in progress back to the queue … */
const GIVE_BACK = { share: 0.2, most: 1_000 };
/** … and this part to close the connections. The messages have the rest. */
const CLOSING = { share: 0.05, most: 250 };
/** The part that the worker, the backlog counts and the history leave for closing the connections. */
const DISCONNECTING = { share: 0.02, most: 100 };
/**
 * How long other modules wait for the first flush: one of them may close a connection that the queue uses.
 */
const FIRST_FLUSH = { share: 0.1, most: 1_000 };
/** Least time for messages that are not in the queue yet, even if the application has used up `shutdownTimeout`. */
const LEAST = { share: 0.5, most: 1_000 };
/**
 * Least time that a database in this process has to close, in milliseconds, even if `shutdownTimeout` is over. A
 * database that does not hang rarely takes that long.
 */
const LEAST_FOR_DATABASE = 2_000;

/** The parts that a shutdown ends. */
export interface AnalyticsParts {
  client: AnalyticsClient;
  /** `undefined` in a process that only produces. */
  worker: DeliveryWorker | undefined;
  eraser: UserEraser;
  /** `undefined` if there is no queue. */
  unfinishedDeletions: UnfinishedDeletions | undefined;
  /** `undefined` if the application has none. */
  outbox: Outbox | undefined;
  events: DeliveryEvents;
  /** The logs that sum up what happened in a minute. */
  logs: readonly { close(): void }[];
  webhookClients: WebhookClients;
  backlogs: BacklogCounter;
  backlogUpkeep: BacklogUpkeep;
  /** `undefined` in a process that only produces, or keeps no history. */
  history: HistoryRecorder | undefined;
  waitingSampler: WaitingSampler | undefined;
  destinations: DestinationsEnd;
  partitions: QueuePartitions;
  partitionWatch: PartitionWatch;
  backend: QueueBackend;
  end: ApplicationEnd;
}

/**
 * Starts delivery when the application is ready, and ends everything in order when the application closes. Closing
 * takes at most `shutdownTimeout`, whatever the queue does, or up to a second more if the application itself took
 * nearly all of that time or more. A database in a thread of its own may exceed this by about two seconds. A database
 * in the main thread takes as long as it needs.
 */
export class AnalyticsLifecycle
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown
{
  private isClosing = false;
  private deadline: number | undefined;
  private work: Promise<boolean> | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly parts: AnalyticsParts,
    private readonly shutdownTimeout: number,
    private readonly logger: Pick<Logger, 'warn' | 'error'>,
  ) {}

  /** Does nothing if the application began to close while it was still starting: its shutdown may be over by now. */
  onApplicationBootstrap(): void {
    if (this.isClosing) return;
    const { worker, unfinishedDeletions, backlogs, backlogUpkeep, waitingSampler, outbox } = this.parts;
    void backlogs.start();
    unfinishedDeletions?.start();
    outbox?.start();
    if (worker === undefined) return;
    worker.start();
    backlogUpkeep.start();
    waitingSampler?.start();
  }

  /** Called first when an application closes, while other modules may still use the queue. */
  onModuleDestroy(): void {
    this.isClosing = true;
    this.parts.backend.announceClose?.();
  }

  /**
   * Requests in flight still track, and their messages go straight to the queue until the time is over. The
   * worker takes no new jobs, since the process is about to end.
   */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.deadline !== undefined) return;
    const { client, outbox } = this.parts;
    outbox?.stop();
    client.drain(this.timeLeft(CLOSING));
    this.work = this.endWork();
    await client.flush({ timeout: Math.min(this.part(FIRST_FLUSH), this.timeLeft(CLOSING)) });
  }

  /** Nest calls this again when `app.close()` is called a second time. */
  onApplicationShutdown(): Promise<void> {
    this.closing ??= this.close();
    return this.closing;
  }

  private async close(): Promise<void> {
    const { client, worker, eraser, unfinishedDeletions, outbox, events, logs, destinations } = this.parts;
    const { webhookClients, backlogs, backlogUpkeep, history, waitingSampler } = this.parts;
    const { partitions, partitionWatch, backend, end } = this.parts;
    const patience = Math.max(this.timeLeft(CLOSING), this.part(LEAST));
    this.work ??= this.endWork();
    unfinishedDeletions?.close();
    const [, kept, workerEnded] = await Promise.all([
      client.close(patience),
      eraser.close(patience),
      this.work,
      outbox?.close(patience),
      destinations.finish(patience),
    ]);
    if (worker !== undefined) await within(this.timeLeft(DISCONNECTING), worker.close(!workerEnded));
    end.begin();
    destinations.close();
    backlogUpkeep.close();
    waitingSampler?.close();
    partitionWatch.close();
    await within(this.timeLeft(DISCONNECTING), Promise.all([backlogs.close(), history?.close()]));
    events.complete();
    for (const log of logs) log.close();
    await within(this.timeLeft(), partitions.close());
    try {
      await webhookClients.close();
      await backend.close(Math.max(this.timeLeft(), LEAST_FOR_DATABASE));
    } finally {
      this.logLosses(client.losses);
      this.logKept(kept);
    }
  }

  /** Resolves to whether all jobs in hand were finished or given back. */
  private async endWork(): Promise<boolean> {
    const { worker } = this.parts;
    if (worker === undefined) return true;
    const paused = worker.pause();
    if (await within(this.timeLeft(GIVE_BACK), paused)) return true;
    worker.cancel();
    return (await within(this.timeLeft(CLOSING), paused)) ?? false;
  }

  private logLosses({ messages, byDestination, unrouted, unconfirmed }: Losses): void {
    if (messages === 0) return;
    const lost = `${countOf(messages, 'message')} ${messages === 1 ? 'was' : 'were'}`;
    const places = Array.from(byDestination, ([destination, count]) => `${destination}: ${count}`);
    if (unrouted > 0) places.push(`destination not looked up yet: ${unrouted}`);
    const doubt =
      unconfirmed === 0
        ? ''
        : ` Of these, ${unconfirmed} were being added and may be in the queue, although it did not confirm them.`;
    this.logger.error(
      `The application has closed, and ${lost} lost (${places.join(', ')}): the queue did not ` +
        `take them within \`shutdownTimeout\` (${this.shutdownTimeout} ms).${doubt} Check the queue, or give it more time.`,
    );
  }

  private logKept(users: number): void {
    if (users === 0) return;
    this.logger.warn(
      `The application closed before the kept messages of ${countOf(users, 'deleted user')} could be removed from ` +
        'the queue. Call `delete` for them again.',
    );
  }

  /** Returns the milliseconds left of `shutdownTimeout`, less the part that is reserved at its end. */
  private timeLeft(reserve?: Reserve): number {
    this.deadline ??= performance.now() + this.shutdownTimeout;
    const reserved = reserve === undefined ? 0 : this.part(reserve);
    return Math.max(this.deadline - reserved - performance.now(), 0);
  }

  private part({ share, most }: Reserve): number {
    return Math.min(this.shutdownTimeout * share, most);
  }
}

interface Reserve {
  share: number;
  /** In milliseconds. */
  most: number;
}
