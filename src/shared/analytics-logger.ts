import { Logger } from '@nestjs/common';
import { thrownAt } from './thrown-at.js';

/**
 * Writes the log lines of this module, and catches what the application's logger throws. Otherwise the message of a
 * request that logs a line would never be settled, or an error in a listener would end the process. A Node.js warning
 * reports the error instead.
 */
export class AnalyticsLogger {
  private readonly logger = new Logger('Analytics');
  private readonly told = new Set<string>();

  error(message: string): void {
    this.write('error', message);
  }

  warn(message: string): void {
    this.write('warn', message);
  }

  log(message: string): void {
    this.write('log', message);
  }

  private write(level: 'error' | 'warn' | 'log', message: string): void {
    try {
      this.logger[level](message);
    } catch (error) {
      const thrown = thrownAt(error);
      if (this.told.has(thrown)) return;
      this.told.add(thrown);
      process.emitWarning(
        `The application's logger threw ${thrown}, so log lines of nestjs-analytics are lost.`,
      );
    }
  }
}
