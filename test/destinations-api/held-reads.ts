import { EventEmitter, on, once } from 'node:events';
import type { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { ApiAnswer } from '../ingest/http/tracking-server.js';
import type { ApiClient } from './api-server.js';

interface HeldQuery {
  messageIds?: readonly string[];
  signal?: AbortSignal;
}

/** Paths and queries of requests for lists, up to a number that names the request. */
export const LISTS = ['?limit=', '/dst_1/recent?limit=', '/dst_1/stats?from='] as const;

interface HeldList {
  limit?: number;
  from?: number;
}

/**
 * Requests for lists, and requests that read or replay failed messages, which go on until a test ends them. A message's
 * id, or the number in the query, names the request.
 */
export class HeldReads {
  /** Most requests that were in progress at once. */
  most = 0;
  private running = 0;
  private readonly events = new EventEmitter();
  private readonly begun = on(this.events, 'began');

  constructor(deliveries: DeliveriesService, destinations?: DestinationsService) {
    const list = ({ limit, from }: HeldList): HeldQuery => ({ messageIds: [String(limit ?? from)] });
    Object.assign(deliveries, {
      failed: (query: HeldQuery) => this.hold(query, []),
      replay: (query: HeldQuery) => this.hold(query, 1),
      recent: (query: HeldList) => this.hold(list(query), []),
      stats: (query: HeldList) => this.hold(list(query), []),
    });
    if (destinations === undefined) return;
    Object.assign(destinations, {
      list: (query: HeldList) => this.hold(list(query), { destinations: [], cursor: undefined }),
    });
  }

  async read(client: ApiClient, name: string): Promise<ApiAnswer> {
    return client.get(`/${await client.create()}/failed?messageIds=${name}`);
  }

  async replay(client: ApiClient, name: string): Promise<ApiAnswer> {
    return client.post(`/${await client.create()}/replay`, { messageIds: [name] });
  }

  /** Resolves to the name of the next request that begins. */
  async began(): Promise<string> {
    const { value } = (await this.begun.next()) as { value: [string] };
    return value[0];
  }

  end(name: string): void {
    this.events.emit(`end ${name}`);
  }

  private async hold<T>({ messageIds = [], signal }: HeldQuery, answer: T): Promise<T> {
    const [name = ''] = messageIds;
    this.most = Math.max(this.most, ++this.running);
    const ended = once(this.events, `end ${name}`, { signal });
    this.events.emit('began', name);
    try {
      await ended;
      return answer;
    } finally {
      this.running--;
    }
  }
}
