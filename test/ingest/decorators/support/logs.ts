import type { LoggerService } from '@nestjs/common';

/** Collects what an application logs. */
export class Logs implements LoggerService {
  readonly warnings: string[] = [];
  readonly errors: string[] = [];

  log(): void {
    // Lines about the start of the application are not collected.
  }

  warn(message: unknown): void {
    this.warnings.push(String(message));
  }

  error(message: unknown): void {
    this.errors.push(String(message));
  }

  /** Returns the warnings that contain a text. */
  about(text: string): string[] {
    return this.warnings.filter((warning) => warning.includes(text));
  }
}
