import type {
  BeforeApplicationShutdown,
  Logger,
  OnApplicationBootstrap,
  OnApplicationShutdown,
} from '@nestjs/common';
import type { AnalyticsClient } from './client/analytics-client.js';
import type { DeliveryEvents } from './delivery/delivery-events.js';
import type { DeliveryWorker } from './delivery/delivery-worker.js';
import type { UserEraser } from './delivery/user-eraser.js';
import type { WebhookClients } from './destinations/webhooks/webhook-clients.js';
import type { BatchJobQueue, QueueBackend } from './queue/queue-backend.js';
import { within } from './time/within.js';

/** Shares of `shutdownTimeout`: what is left of it when the requests in flight have ended, and when all work has. */
const FIRST_FLUSH_SHARE = 0.4;
const WORK_SHARE = 0.8;
const PUT_BACK_SHARE = 0.95;

/** What a shutdown has to end, from the door to the database. */
export interface AnalyticsParts {
  client: AnalyticsClient;
  /** `undefined` in a process that only produces. */
  worker: DeliveryWorker | undefined;
  eraser: UserEraser;
  events: DeliveryEvents;
  webhookClients: WebhookClients;
  queue: BatchJobQueue;
  backend: QueueBackend;
}

/**
 * Starts delivery when the application is ready, and ends everything in order when it closes, within
 * `shutdownTimeout` whatever the queue does.
 */
export class AnalyticsLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private closingSince: number | undefined;

  constructor(
    private readonly parts: AnalyticsParts,
    private readonly shutdownTimeout: number,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  onApplicationBootstrap(): void {
    this.parts.worker?.start();
  }

  /** Requests in flight still track; what they track goes straight to the queue. */
  async beforeApplicationShutdown(): Promise<void> {
    const patience = this.left(FIRST_FLUSH_SHARE);
    this.parts.client.passThrough(patience);
    await this.parts.client.flush({ timeout: patience });
  }

  async onApplicationShutdown(): Promise<void> {
    const { client, worker, eraser, events, webhookClients, queue, backend } = this.parts;
    const patience = this.left(WORK_SHARE);
    const [lost, kept, workerEnded] = await Promise.all([
      client.close(patience),
      eraser.close(patience),
      this.endWork(),
    ]);
    await worker?.close(!workerEnded);
    events.complete();
    await within(this.left(1), queue.close());
    await webhookClients.close();
    await backend.close();
    if (lost > 0) {
      this.logger.warn(
        `The application has closed, and ${lost} messages were lost: the queue did not take them within ` +
          `\`shutdownTimeout\` (${this.shutdownTimeout} ms). Check the queue, or give it more time.`,
      );
    }
    if (kept > 0) {
      this.logger.warn(
        `The application has closed before the kept messages of ${kept} deleted users could be removed from ` +
          'the queue. Call `delete` for them again.',
      );
    }
  }

  /** Whether all jobs in flight were finished or put back. */
  private async endWork(): Promise<boolean> {
    const { worker } = this.parts;
    if (worker === undefined) return true;
    const paused = worker.pause();
    if (await within(this.left(WORK_SHARE), paused)) return true;
    worker.cancel();
    return (await within(this.left(PUT_BACK_SHARE), paused)) ?? false;
  }

  /** Milliseconds until a share of `shutdownTimeout` has passed. */
  private left(share: number): number {
    this.closingSince ??= Date.now();
    return Math.max(this.closingSince + this.shutdownTimeout * share - Date.now(), 0);
  }
}
