import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { LiveEvent } from '../../src/live/live-event.js';
import { until } from '../support/until.js';

/** A part of a stream of server-sent events. */
export interface StreamPart {
  id: string | undefined;
  event: string;
  data: unknown;
}

/** Watches the live events of a console, or its changes, as its page does. */
export class Watcher {
  readonly parts: StreamPart[] = [];
  /** Resolves at the end of the stream. */
  readonly ended: Promise<unknown>;
  private text = '';

  private constructor(readonly answer: IncomingMessage) {
    this.ended = once(answer, 'close');
    answer.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (this.text + chunk).split('\n\n');
      this.text = parts.pop() ?? '';
      this.parts.push(...parts.filter((part) => !part.startsWith(':')).map(partOf));
    });
    // One of the two sides has broken it off.
    answer.on('error', () => undefined);
  }

  /** @param url of the console. @param headers of the watcher. @param path below that of the console */
  static async open(url: string, headers: Record<string, string>, path = '/live'): Promise<Watcher> {
    const sent = request(`${url}${path}`, { headers: { 'x-analytics-console': '1', ...headers } }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const watcher = new Watcher(answer);
    // The first part says that the stream is ready, or that the database is away.
    if (answer.statusCode === 200) await until(() => watcher.parts.at(0));
    return watcher;
  }

  /** Events that were seen so far. */
  get events(): LiveEvent[] {
    return this.parts.filter(({ event }) => event === 'call').map(({ data }) => data as LiveEvent);
  }

  /** Resolves to the events that were seen, once there are `count` of them. */
  sees(count: number): Promise<LiveEvent[]> {
    return until(() => (this.events.length >= count ? this.events : undefined));
  }

  close(): Promise<void> {
    this.answer.destroy();
    return Promise.resolve();
  }
}

function partOf(text: string): StreamPart {
  const lines = text.split('\n');
  const field = (name: string): string | undefined =>
    lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  return {
    id: field('id'),
    event: field('event') ?? '',
    data: JSON.parse(field('data') ?? '{}') as unknown,
  };
}
