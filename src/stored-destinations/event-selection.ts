import type { AnalyticsMessage, MessageType } from '../messages/message.types.js';
import type { DestinationRecord } from '../options/destination-store.js';

/** Which messages a destination at run time wants. It is asked for every message, so it is prepared once. */
export class EventSelection {
  private readonly types: ReadonlySet<MessageType> | undefined;
  /** `undefined`: every event. */
  private readonly names: ReadonlySet<string> | undefined;
  private readonly beginnings: readonly string[];
  private readonly sources: ReadonlySet<string> | undefined;

  constructor({ events, types, sources }: Pick<DestinationRecord, 'events' | 'types' | 'sources'>) {
    // Whoever names events does not expect calls that have none.
    const wanted = types ?? (events === undefined ? undefined : (['track'] satisfies MessageType[]));
    this.types = wanted && new Set(wanted);
    this.names = events && new Set(events.filter((pattern) => !pattern.endsWith('*')));
    const patterns = events?.filter((pattern) => pattern.endsWith('*')) ?? [];
    this.beginnings = patterns.map((pattern) => pattern.slice(0, -1));
    this.sources = sources && new Set(sources);
  }

  /** @param source name of the message's source */
  takes(source: string, message: AnalyticsMessage): boolean {
    if (this.types?.has(message.type) === false || this.sources?.has(source) === false) return false;
    if (this.names === undefined || message.type !== 'track') return true;
    const { event } = message;
    return this.names.has(event) || this.beginnings.some((beginning) => event.startsWith(beginning));
  }
}
