import type { Logger } from '@nestjs/common';
import debugFactory from 'debug';
import { thrownAt } from '../../errors/thrown-at.js';
import { AnalyticsError } from '../../errors/analytics.error.js';
import type { DecoratorDefinition } from './decorator-definition.js';

const debug = debugFactory('analytics');

/**
 * Logs why calls of decorated methods were not recorded. A method may be called a thousand times a second, so
 * each kind of failure is logged once per place. `DEBUG=analytics` shows every one.
 */
export class DecoratorLog {
  private readonly logged = new Set<string>();

  constructor(private readonly logger: Pick<Logger, 'warn'>) {}

  /** Neither the decorator nor the request identifies a user. */
  noIdentity(definition: DecoratorDefinition, method: string, missing: string): void {
    this.write(
      placeOf(definition, method),
      'identity',
      `has no ${missing}, so it is dropped. Give it one in the decorator, or let the option \`identity\` of ` +
        'AnalyticsModule find it in the request.',
    );
  }

  /** An option's function, or the call itself, threw. */
  failed(definition: DecoratorDefinition, method: string, error: unknown): void {
    // The texts of other errors may hold what was to be sent.
    const reason = error instanceof AnalyticsError ? error.message : `its options threw ${thrownAt(error)}`;
    const kind = error instanceof AnalyticsError ? error.code : reason;
    this.write(placeOf(definition, method), kind, `was not recorded: ${reason}`);
  }

  private write(place: string, kind: string, text: string): void {
    debug('%s %s', place, text);
    const key = `${place}\n${kind}`;
    if (this.logged.has(key)) return;
    this.logged.add(key);
    this.logger.warn(`${place} ${text}`);
  }
}

function placeOf({ decorator }: DecoratorDefinition, method: string): string {
  return `${decorator} on ${method}`;
}
