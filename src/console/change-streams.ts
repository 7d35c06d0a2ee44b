import type { StreamedAnswer } from '../http/http-answer.js';
import { SilentConnectionError } from '../queue/queue-failure.js';
import { within } from '../shared/within.js';
import { REPORT_PATIENCE } from './console-reports.js';
import { commentText, EventStreams, eventText, type StreamTime } from './event-streams.js';

/** Maximum number of open pages that watch for changes, for each tenant and for the operator. */
const MAX_PAGES = 20;
/** How often to look for changes, in milliseconds: as often as the history is written. */
const INTERVAL = 2_000;
/** Interval between comments during a slow look, in milliseconds: a page gives up a stream that is silent for long. */
const COMMENT_INTERVAL = 3_000;

/** Looks at what a page shows. Resolves to a text that changes whenever the shown data changes. */
export type Look = () => Promise<string>;

/**
 * Tells pages that the data they show has changed, as server-sent events. The page then requests the data. This
 * process looks for changes only while a page is open, so processes that deliver need not know who watches.
 */
export class ChangeStreams {
  private readonly streams: EventStreams;

  constructor(logger: { error(message: string): void }) {
    this.streams = new EventStreams(MAX_PAGES, logger);
  }

  /**
   * @param tenant the tenant that reads the page; `undefined` for the operator
   * @throws {RequestRefusal} if this reader has too many pages open; and what `look` throws within `COMMENT_INTERVAL`
   */
  open(tenant: string | undefined, look: Look): Promise<StreamedAnswer> {
    return this.streams.open(tenant, async () => {
      const first = look();
      // Most refusals are known within this time, so the status of the answer can show them.
      await within(COMMENT_INTERVAL, first);
      return (time) => changes(first, look, time);
    });
  }
}

async function* changes(first: Promise<string>, look: Look, time: StreamTime): AsyncGenerator<string> {
  let known = yield* textOf(first, time);
  if (known === undefined) return;
  yield eventText('ready', {});
  let rest = INTERVAL;
  for (;;) {
    await time.pause(rest);
    if (time.isOver) return;
    const begun = performance.now();
    const found = yield* textOf(look(), time);
    if (found === undefined) return;
    yield found === known ? commentText('no change') : eventText('changed', {});
    known = found;
    // A slow database rests for as long as the look took, so it is not asked even more often.
    rest = Math.max(INTERVAL, performance.now() - begun);
  }
}

/** Returns the text of a look, or `undefined` once the stream's time is over. A look may take as long as a report. */
async function* textOf(look: Promise<string>, time: StreamTime): AsyncGenerator<string, string | undefined> {
  const begun = performance.now();
  while (performance.now() - begun < REPORT_PATIENCE) {
    const text = await within(COMMENT_INTERVAL, look);
    if (text !== undefined || time.isOver) return text;
    yield commentText('looking');
  }
  throw new SilentConnectionError(REPORT_PATIENCE / 1_000);
}
