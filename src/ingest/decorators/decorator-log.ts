import type { Logger } from '@nestjs/common';
import debugFactory from 'debug';
import { thrownAt } from '../../shared/thrown-at.js';
import { AnalyticsError } from '../../errors/analytics.error.js';
import type { LiveCall } from '../../live/live-event.js';
import type { LiveEvents } from '../../live/live-events.js';
import type { DecoratorDefinition } from './decorator-definition.js';

const debug = debugFactory('analytics');

/**
 * Logs why calls of decorated methods were not recorded. A method may be called a thousand times a second, so
 * each kind of failure is logged once per place. `DEBUG=analytics` shows every one.
 */
export class DecoratorLog {
  private readonly logged = new Set<string>();

  /** @param live shows the failures to whoever watches; `undefined` in an application that shows nothing */
  constructor(
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly live?: Pick<LiveEvents, 'add' | 'addError'>,
  ) {}

  /** Logs that neither the decorator nor the request identifies a user. */
  noIdentity(definition: DecoratorDefinition, method: string, missing: string): void {
    const place = placeOf(definition, method);
    const text =
      `has no ${missing}, so it is dropped. Give it one in the decorator, or let AnalyticsModule's ` +
      '`identity` option find it in the request.';
    this.write(place, 'identity', text);
    this.live?.add('dropped', callOf(definition), `${place} ${text}`);
  }

  /** Logs an error that an option's function, or recording the call, threw. */
  failed(definition: DecoratorDefinition, method: string, error: unknown): void {
    // The messages of other errors may contain data that was to be sent.
    const reason = error instanceof AnalyticsError ? error.message : `its options threw ${thrownAt(error)}`;
    const kind = error instanceof AnalyticsError ? error.code : reason;
    this.write(placeOf(definition, method), kind, `was not recorded: ${reason}`);
    this.live?.addError(error, callOf(definition));
  }

  /** Logs an option that the decorator does not have, or a value that the option cannot have. */
  wrongOption(definition: DecoratorDefinition, method: string, option: string, text: string): void {
    this.write(
      placeOf(definition, method),
      `option ${option}`,
      `has a wrong option, which is ignored. ${text}`,
    );
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

function callOf({ type, options: { event } }: DecoratorDefinition): LiveCall {
  return { type, name: typeof event === 'string' ? event : undefined };
}
