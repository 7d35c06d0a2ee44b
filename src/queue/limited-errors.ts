import { LimitedLog, type QueueLog } from './limited-log.js';

/** Errors that have lines of their own. */
const MAX_ERRORS = 20;

/**
 * Lets five lines a minute through of each error: what fails for a sender may fail with each of its requests, of which it can
 * send thousands. Errors past the first twenty share five lines, since a sender may make them differ.
 */
export class LimitedErrors {
  private readonly limits = new Map<string, LimitedLog>();
  private readonly shared: LimitedLog;

  constructor(
    private readonly logger: QueueLog & { error(message: string): void },
    private readonly now: () => number = () => performance.now(),
  ) {
    this.shared = new LimitedLog(logger, now);
  }

  error(message: string): void {
    this.limitOf(message).ifRoom(() => {
      this.logger.error(message);
    });
  }

  private limitOf(message: string): LimitedLog {
    const known = this.limits.get(message);
    if (known !== undefined) return known;
    if (this.limits.size >= MAX_ERRORS) return this.shared;
    const limit = new LimitedLog(this.logger, this.now);
    this.limits.set(message, limit);
    return limit;
  }
}
