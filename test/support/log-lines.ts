import { EventEmitter, once } from 'node:events';
import type { LoggerService } from '@nestjs/common';

type LogLevel = 'log' | 'warn' | 'error' | 'fatal' | 'debug' | 'verbose';

export interface LogLine {
  level: LogLevel;
  /** Who logs the line: `Analytics`, or a part of Nest. */
  context: string;
  text: string;
}

/** Records what an application logs, and prints nothing. */
export class LogLines implements LoggerService {
  readonly all: LogLine[] = [];
  readonly #events = new EventEmitter();

  /** Lines of this module, each as `level: text`. */
  get analytics(): string[] {
    return this.all.filter(({ context }) => context === 'Analytics').map(asText);
  }

  /** Errors of this module and of Nest. */
  get errors(): string[] {
    return this.all.filter(({ level }) => level === 'error' || level === 'fatal').map(asText);
  }

  /** Resolves to the first line of this module that matches, whether it is already there or yet to come. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.analytics.find((text) => pattern.test(text));
      if (line !== undefined) return line;
      await once(this.#events, 'line');
    }
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#add('log', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#add('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#add('error', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.#add('fatal', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.#add('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.#add('verbose', message, rest);
  }

  #add(level: LogLevel, message: unknown, rest: unknown[]): void {
    this.all.push({ level, context: String(rest.at(-1)), text: String(message) });
    this.#events.emit('line');
  }
}

function asText({ level, text }: LogLine): string {
  return `${level}: ${text}`;
}
