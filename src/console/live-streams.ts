import type { StreamedAnswer } from '../http/http-answer.js';
import type { LiveEvents } from '../live/live-events.js';
import { ALL_EVENTS, LIVE_LIMITS, type LiveFeed, type NumberedEvent } from '../live/live-feed.js';
import { commentText, EventStreams, eventText, inTime, type StreamTime } from './event-streams.js';

/** Maximum number of pages that watch at the same time, for each tenant and for the operator. */
const MAX_WATCHERS = 10;
/** How often the feed is read, in milliseconds. */
const READ_INTERVAL = 500;
/** How often the feed is told that a page watches, in milliseconds. A comment then shows that the stream is alive. */
const WATCH_INTERVAL = 3_000;

export interface LiveStreamsParts {
  feed: LiveFeed;
  /** The calls of this process. */
  live: Pick<LiveEvents, 'onWatched'>;
  logger: { error(message: string): void };
}

/** Sends calls to the pages that watch them, as server-sent events. */
export class LiveStreams {
  private readonly streams: EventStreams;

  constructor(private readonly parts: LiveStreamsParts) {
    this.streams = new EventStreams(MAX_WATCHERS, parts.logger);
  }

  /**
   * @param tenant the tenant whose events are sent; `undefined` for the operator, who gets all events
   * @param since number of the last event that the page has seen; `undefined` for a page that was just opened
   * @throws {RequestRefusal} if too many pages watch already
   */
  open(tenant: string | undefined, since: number | undefined): Promise<StreamedAnswer> {
    const { feed, live } = this.parts;
    const stream = new LiveStream(feed, tenant ?? ALL_EVENTS, since, () => {
      live.onWatched();
    });
    return this.streams.open(tenant, () => Promise.resolve((time) => stream.parts(time)));
  }
}

/** The stream of one page. */
class LiveStream {
  /** Number of the latest event that was sent. */
  private position = 0;
  /** Number of the latest event, as the feed last reported it. The event itself may not have been kept. */
  private latest = 0;
  private watchedAt = -Infinity;

  constructor(
    private readonly feed: LiveFeed,
    private readonly scope: string,
    private readonly since: number | undefined,
    private readonly onWatched: () => void,
  ) {}

  async *parts(time: StreamTime): AsyncGenerator<string> {
    await this.watch();
    this.onWatched();
    this.position = Math.min(this.since ?? this.latest, this.latest);
    yield eventText('ready', {}, this.position);
    while (!time.isOver) {
      if (performance.now() - this.watchedAt >= WATCH_INTERVAL) {
        await this.watch();
        // After a crash of the database, numbers may begin again.
        this.position = Math.min(this.position, this.latest);
        yield commentText('watching');
      }
      yield* this.newEvents(time);
      await time.pause(READ_INTERVAL);
    }
  }

  private async *newEvents(time: StreamTime): AsyncGenerator<string> {
    for (let read = 0; read < LIVE_LIMITS.keptEvents; read += LIVE_LIMITS.readEvents) {
      const events = await inTime(this.feed.read(this.scope, this.position));
      for (const event of events) {
        // A slow reader may take minutes for a hundred events, and may have lost access meanwhile.
        if (time.isOver) return;
        yield* this.partsOf(event);
      }
      if (events.length === 0) yield* this.missedUntil(this.latest);
      if (events.length < LIVE_LIMITS.readEvents) return;
    }
  }

  private async watch(): Promise<void> {
    this.watchedAt = performance.now();
    this.latest = await inTime(this.feed.watch(this.scope));
  }

  /** Yields how many events up to a number were not kept. */
  private *missedUntil(number: number): Generator<string> {
    const count = number - this.position;
    if (count <= 0) return;
    this.position = number;
    yield eventText('missed', { count }, number);
  }

  private *partsOf({ number, event }: NumberedEvent): Generator<string> {
    yield* this.missedUntil(number - 1);
    this.position = number;
    yield `id: ${number}\nevent: call\ndata: ${event}\n\n`;
  }
}
