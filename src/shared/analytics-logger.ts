import { Logger } from '@nestjs/common';
import { thrownAt } from './thrown-at.js';

/**
 * Writes the lines of this module. What the application's logger throws ends here: a line may be written in the midst of
 * a request, whose message would never be settled, or by a listener, where an error ends the process. Node's warning tells
 * of it.
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
      process.emitWarning(`The application's logger threw ${thrown}, so lines of nestjs-analytics are lost.`);
    }
  }
}
