import { types } from 'node:util';
import type { QueueHealth } from '../queue/queue-health.js';
import type { ClientObserver } from './analytics-client.js';

export interface ClientLogger {
  warn(message: string): void;
}

/** Tells refused messages once a reason, until everything that was taken is in the queue again. */
export class ClientLog implements ClientObserver {
  private readonly told = new Set<string>();

  constructor(
    private readonly health: QueueHealth,
    private readonly logger: ClientLogger,
  ) {}

  onRefused(reason: string): void {
    if (this.told.has(reason)) return;
    this.told.add(reason);
    this.logger.warn(`Messages are refused: ${reason}. \`flush()\` tells how many.`);
  }

  onAddFailed(error: unknown): void {
    if (types.isNativeError(error)) this.health.report(error);
  }

  onDrained(): void {
    this.told.clear();
  }
}
