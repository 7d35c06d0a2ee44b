import { setTimeout as sleep } from 'node:timers/promises';
import { RunningRequests } from '../destinations-api/running-requests.js';
import { thrownAt } from '../errors/thrown-at.js';
import type { StreamedAnswer } from '../http/http-answer.js';
import type { LiveEvents } from '../live/live-events.js';
import { ALL_EVENTS, type LiveFeed, type NumberedEvent } from '../live/live-feed.js';
import { failureOf, SilentConnectionError } from '../queue/queue-failure.js';
import { within } from '../shared/within.js';

/** Pages of one tenant, or of the operator, that watch at the same time. */
const MAX_WATCHERS = 10;
/** How long a stream lasts, in milliseconds. Then the page asks again, and may not be allowed to any more. */
const LIFETIME = 60_000;
/** How often the feed is read, in milliseconds. */
const READ_INTERVAL = 500;
/** How often the feed is told that somebody watches, in milliseconds; proxies see that the stream is alive. */
const WATCH_INTERVAL = 3_000;
/** How long the database may take to answer, in milliseconds. */
const PATIENCE = 5_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-content-type-options': 'nosniff',
  // Nginx would hold it back.
  'x-accel-buffering': 'no',
};

export interface LiveStreamsParts {
  feed: LiveFeed;
  /** The calls of this process. */
  live: Pick<LiveEvents, 'onWatched'>;
  logger: { error(message: string): void };
}

/** Sends events to those who watch, as server-sent events. */
export class LiveStreams {
  private readonly watchers = new RunningRequests(MAX_WATCHERS);

  constructor(private readonly parts: LiveStreamsParts) {}

  /**
   * @param tenant whose events are sent; those of all for the operator
   * @param since number of the event that the page has seen last; `undefined` for a page that was just opened
   * @throws {RequestRefusal} if too many pages watch already
   */
  open(tenant: string | undefined, since: number | undefined): StreamedAnswer {
    const leave = this.watchers.begin(tenant);
    const { feed, live, logger } = this.parts;
    const stream = new LiveStream(feed, tenant ?? ALL_EVENTS, since, () => {
      live.onWatched();
    });
    return {
      status: 200,
      headers: HEADERS,
      async *parts(ended) {
        try {
          yield* stream.parts(ended);
        } catch (error) {
          if (failureOf(error) === undefined) logger.error(`A live stream has failed: ${thrownAt(error)}`);
          yield part('away', {});
        } finally {
          leave();
        }
      },
    };
  }
}

/** What one page sees. */
class LiveStream {
  /** Number of the latest event that was sent. */
  private position = 0;
  private watchedAt = -Infinity;

  constructor(
    private readonly feed: LiveFeed,
    private readonly scope: string,
    private readonly since: number | undefined,
    private readonly onWatched: () => void,
  ) {}

  async *parts(ended: AbortSignal): AsyncGenerator<string> {
    const endsAt = performance.now() + LIFETIME;
    const latest = await this.watch();
    this.onWatched();
    this.position = Math.min(this.since ?? latest, latest);
    yield part('ready', {}, this.position);
    while (!ended.aborted && performance.now() < endsAt) {
      if (performance.now() - this.watchedAt >= WATCH_INTERVAL) {
        // After a crash of the database, numbers may begin again.
        this.position = Math.min(this.position, await this.watch());
        yield ': watching\n\n';
      }
      const events = await inTime(this.feed.read(this.scope, this.position));
      for (const event of events) yield* this.partsOf(event);
      // It rejects only when the signal is aborted.
      if (events.length === 0)
        await sleep(READ_INTERVAL, undefined, { signal: ended }).catch(() => undefined);
    }
  }

  private async watch(): Promise<number> {
    this.watchedAt = performance.now();
    return inTime(this.feed.watch(this.scope));
  }

  private *partsOf({ number, event }: NumberedEvent): Generator<string> {
    const missed = number - this.position - 1;
    if (missed > 0) yield part('missed', { count: missed });
    this.position = number;
    yield `id: ${number}\nevent: call\ndata: ${event}\n\n`;
  }
}

/** @param id of the latest event */
function part(event: string, data: object, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** @throws if the database does not answer in time */
async function inTime<T extends object | number>(answer: Promise<T>): Promise<T> {
  const result = await within(PATIENCE, answer);
  if (result === undefined) throw new SilentConnectionError(PATIENCE / 1_000);
  return result;
}
