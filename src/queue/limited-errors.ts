import { LimitedLog, type QueueLog } from './limited-log.js';

/** Number of errors that have a limit of their own. */
const MAX_ERRORS = 20;

/**
 * Lets five lines a minute through for each error: a sender may cause the same error with each of thousands of
 * requests. Errors past the first twenty share five lines, since a sender may make each error differ.
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
