import { setTimeout as sleep } from 'node:timers/promises';
import { answerToError, internalError, refusedAnswer } from '../destinations-api/api-answer.js';
import { RunningRequests } from '../destinations-api/running-requests.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { HttpAnswer, StreamedAnswer } from '../http/http-answer.js';
import { SilentConnectionError } from '../queue/queue-failure.js';
import { within } from '../shared/within.js';

/** How long a stream lasts, in milliseconds. Then the page asks again, and may not be allowed to any more. */
const LIFETIME = 60_000;
/** How long the database may take to answer, in milliseconds. */
const PATIENCE = 5_000;
/** However many streams a process sends, together they look at the database once in this time, in milliseconds. */
const LOOK_INTERVAL = 5;
/** A page waits for 15 seconds for a sign that its stream is alive. */
const LONGEST_PAUSE = 5_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-content-type-options': 'nosniff',
  // Nginx would hold it back.
  'x-accel-buffering': 'no',
};

/** How long a page is sent something. */
export class StreamTime {
  private readonly endsAt = performance.now() + LIFETIME;

  /**
   * @param ended aborted when nobody reads any more
   * @param streams those that this process sends
   */
  constructor(
    private readonly ended: AbortSignal,
    private readonly streams: { readonly total: number },
  ) {}

  get isOver(): boolean {
    return this.ended.aborted || performance.now() >= this.endsAt;
  }

  /**
   * Resolves before the next look at the database, or when nobody reads any more.
   *
   * @param shortest milliseconds to wait where few streams are open
   */
  async pause(shortest: number): Promise<void> {
    const wait = Math.min(Math.max(shortest, this.streams.total * LOOK_INTERVAL), LONGEST_PAUSE);
    // It rejects only when the signal is aborted.
    await sleep(wait, undefined, { signal: this.ended }).catch(() => undefined);
  }
}

/** Answers pages with server-sent events. */
export class EventStreams {
  private readonly running: RunningRequests;

  /** @param most streams of one tenant, or of the operator, at the same time */
  constructor(
    most: number,
    private readonly logger: { error(message: string): void },
  ) {
    this.running = new RunningRequests(most, `${most} such pages are open already: close one of them.`);
  }

  /**
   * @param tenant who reads it; `undefined` for the operator
   * @param prepare called before anything is sent; resolves to what yields events until the time is over
   * @throws {RequestRefusal} if too many pages of theirs read such a stream already; what `prepare` throws
   */
  async open(
    tenant: string | undefined,
    prepare: () => Promise<(time: StreamTime) => AsyncIterable<string>>,
  ): Promise<StreamedAnswer> {
    // First of all, so that what is prepared is limited as well.
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

/** A server-sent event. @param id of the latest event of which the page has seen all */
export function eventText(event: string, data: object, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Why nothing more comes, as a page that asks again is answered. */
function awayText({ body }: HttpAnswer): string {
  return eventText('away', JSON.parse(body) as object);
}

/** Text that the page skips; a proxy sees that the stream is alive. */
export function commentText(comment: string): string {
  return `: ${comment}\n\n`;
}

/** @throws if the database does not answer in time */
export async function inTime<T extends object | number>(answer: Promise<T>): Promise<T> {
  const result = await within(PATIENCE, answer);
  if (result === undefined) throw new SilentConnectionError(PATIENCE / 1_000);
  return result;
}
