import type { LoggerService } from '@nestjs/common';

/** Collects what an application logs. */
export class Logs implements LoggerService {
  readonly warnings: string[] = [];
  readonly errors: string[] = [];

  log(): void {
    // What an application tells of its start is of no concern.
  }

  warn(message: unknown): void {
    this.warnings.push(String(message));
  }

  error(message: unknown): void {
    this.errors.push(String(message));
  }

  /** The warnings that hold a text. */
  about(text: string): string[] {
    return this.warnings.filter((warning) => warning.includes(text));
  }
}
