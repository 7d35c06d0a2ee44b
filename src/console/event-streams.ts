import { setTimeout as sleep } from 'node:timers/promises';
import { answerToError, internalError, refusedAnswer } from '../destinations-api/api-answer.js';
import { RunningRequests } from '../destinations-api/running-requests.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { HttpAnswer, StreamedAnswer } from '../http/http-answer.js';
import { SilentConnectionError } from '../queue/queue-failure.js';
import { within } from '../shared/within.js';

/** How long a stream lasts, in milliseconds. Then the page asks for another stream, and its access is checked again. */
const LIFETIME = 60_000;
/** How long the database may take to answer, in milliseconds. */
const PATIENCE = 5_000;
/**
 * Shortest time between two looks at the database, on average over up to 1000 streams of a kind, in milliseconds. With
 * more streams it is shorter, since no stream pauses for longer than `LONGEST_PAUSE`.
 */
const LOOK_INTERVAL = 5;
/** Longest pause of a stream, in milliseconds. A page gives up a stream that is silent for 15 seconds. */
const LONGEST_PAUSE = 5_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-content-type-options': 'nosniff',
  // Without this header, Nginx buffers the stream.
  'x-accel-buffering': 'no',
};

/** The time during which a stream is sent to a page. */
export class StreamTime {
  private readonly endsAt = performance.now() + LIFETIME;

  /**
   * @param ended aborted when nobody reads the stream any more
   * @param streams the streams of this kind that this process sends
   */
  constructor(
    private readonly ended: AbortSignal,
    private readonly streams: { readonly total: number },
  ) {}

  get isOver(): boolean {
    return this.ended.aborted || performance.now() >= this.endsAt;
  }

  /**
   * Resolves when the next look at the database is due, or when nobody reads the stream any more.
   *
   * @param shortest milliseconds to wait if few streams are open
   */
  async pause(shortest: number): Promise<void> {
    const wait = Math.min(Math.max(shortest, this.streams.total * LOOK_INTERVAL), LONGEST_PAUSE);
    // `sleep` rejects only when the signal is aborted.
    await sleep(wait, undefined, { signal: this.ended }).catch(() => undefined);
  }
}

/** Answers pages with server-sent events. */
export class EventStreams {
  private readonly running: RunningRequests;

  /** @param most maximum number of streams at the same time, for each tenant and for the operator */
  constructor(
    most: number,
    private readonly logger: { error(message: string): void },
  ) {
    this.running = new RunningRequests(most, `${most} such pages are open already: close one of them.`);
  }

  /**
   * @param tenant the tenant that reads the stream; `undefined` for the operator
   * @param prepare called before anything is sent; resolves to a function that yields events until the time is over
   * @throws {RequestRefusal} if too many pages of this reader have such a stream already; and what `prepare` throws
   */
  async open(
    tenant: string | undefined,
    prepare: () => Promise<(time: StreamTime) => AsyncIterable<string>>,
  ): Promise<StreamedAnswer> {
    // Comes first, so that the limit covers `prepare` as well.
    const leave = this.running.begin(tenant);
    const { logger, running } = this;
    const send = await prepare().catch((error: unknown) => {
      leave();
      throw error;
    });
    return {
      status: 200,
      headers: HEADERS,
      async *parts(ended) {
        try {
          yield* send(new StreamTime(ended, running));
        } catch (error) {
          const answer = answerToError(error);
          if (answer === undefined) logger.error(`A live stream has failed: ${thrownAt(error)}`);
          yield awayText(answer ?? refusedAnswer(internalError()));
        } finally {
          leave();
        }
      },
    };
  }
}

/** Returns a server-sent event. @param id number of the event after which a page continues when it reconnects */
export function eventText(event: string, data: object, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Returns the event that tells why a stream ends. Its data is the body that a new request would get. */
function awayText({ body }: HttpAnswer): string {
  return eventText('away', JSON.parse(body) as object);
}

/** Returns text that the page skips, but that shows a proxy that the stream is alive. */
export function commentText(comment: string): string {
  return `: ${comment}\n\n`;
}

/** @throws if the database does not answer in time */
export async function inTime<T extends object | number>(answer: Promise<T>): Promise<T> {
  const result = await within(PATIENCE, answer);
  if (result === undefined) throw new SilentConnectionError(PATIENCE / 1_000);
  return result;
}
