import type { LimitedLog } from './limited-log.js';

/** Lets few errors through: what fails for a sender may fail with each of its requests, of which it can send thousands. */
export class LimitedErrors {
  /** @param lines how many there may be */
  constructor(
    private readonly logger: { error(message: string): void },
    private readonly lines: LimitedLog,
  ) {}

  error(message: string): void {
    this.lines.ifRoom(() => {
      this.logger.error(message);
    });
  }
}
