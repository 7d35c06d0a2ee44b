import type { MessageType } from '../messages/message.types.js';
import type { DestinationRecord } from '../options/destination-store.js';

/** The fields that decide whether a destination wants a message. */
export interface SelectedMessage {
  type: MessageType;
  /** Name of the event, for a `track` call. */
  event?: string | undefined;
}

/**
 * Decides which messages a destination at run time wants. It is asked for every message, so it is prepared once.
 *
 * A record of the application's own store may be wrong. An entry that is not a string then selects nothing, and a field
 * that is not an array leaves nothing out: the message is queued, and fails later, where the wrong record is reported.
 */
export class EventSelection {
  private readonly types: ReadonlySet<string> | undefined;
  /** `undefined`: every event. */
  private readonly names: ReadonlySet<string> | undefined;
  private readonly beginnings: readonly string[];
  private readonly sources: ReadonlySet<string> | undefined;

  constructor({ events, types, sources }: Pick<DestinationRecord, 'events' | 'types' | 'sources'>) {
    const patterns = textsOf(events);
    // A destination that names events does not expect calls without an event.
    const wanted = textsOf(types) ?? (patterns && (['track'] satisfies MessageType[]));
    this.types = wanted && new Set(wanted);
    this.names = patterns && new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
    this.beginnings = (patterns ?? [])
      .filter((pattern) => pattern.endsWith('*'))
      .map((pattern) => pattern.slice(0, -1));
    const names = textsOf(sources);
    this.sources = names && new Set(names);
  }

  /** @param source name of the message's source */
  takes(source: string, { type, event }: SelectedMessage): boolean {
    if (this.types?.has(type) === false || this.sources?.has(source) === false) return false;
    if (this.names === undefined || event === undefined || type !== 'track') return true;
    return this.names.has(event) || this.beginnings.some((beginning) => event.startsWith(beginning));
  }
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : undefined;
}
