import debugFactory from 'debug';
import { thrownAt } from '../errors/thrown-at.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import type { TrackDefinition } from './track-definition.js';

const debug = debugFactory('analytics');

export interface TrackingLogger {
  warn(message: string): void;
}

/**
 * Tells why calls of decorated methods were not recorded: each kind of failure once a place, as a method
 * may be called a thousand times a second. `DEBUG=analytics` shows every one.
 */
export class TrackingLog {
  private readonly told = new Set<string>();

  constructor(private readonly logger: TrackingLogger) {}

  /** Nobody is known that the message could be about. */
  noIdentity(definition: TrackDefinition, method: string, missing: string): void {
    this.tell(
      placeOf(definition, method),
      'identity',
      `has no ${missing}, so it is dropped. Give it one in the decorator, or let the option \`identity\` of ` +
        'AnalyticsModule find it in the request.',
    );
  }

  /** An option's function, or the call itself, threw. */
  failed(definition: TrackDefinition, method: string, error: unknown): void {
    // The texts of other errors may hold what was to be sent.
    const reason = error instanceof AnalyticsError ? error.message : `its options threw ${thrownAt(error)}`;
    const kind = error instanceof AnalyticsError ? error.code : reason;
    this.tell(placeOf(definition, method), kind, `was not recorded: ${reason}`);
  }

  private tell(place: string, kind: string, text: string): void {
    debug('%s %s', place, text);
    const key = `${place}\n${kind}`;
    if (this.told.has(key)) return;
    this.told.add(key);
    this.logger.warn(`${place} ${text}`);
  }
}

function placeOf({ decorator }: TrackDefinition, method: string): string {
  return `${decorator} on ${method}`;
}
