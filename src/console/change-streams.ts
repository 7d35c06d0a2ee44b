import type { StreamedAnswer } from '../http/http-answer.js';
import { SilentConnectionError } from '../queue/queue-failure.js';
import { within } from '../shared/within.js';
import { REPORT_PATIENCE } from './console-reports.js';
import { commentText, EventStreams, eventText, type StreamTime } from './event-streams.js';

/** Pages of one tenant, or of the operator, that are told of changes at the same time. */
const MAX_PAGES = 20;
/** How often to look for changes, in milliseconds: as often as the history is written. */
const INTERVAL = 2_000;
/** How often a page hears that a look goes on, in milliseconds: it gives up a stream that is silent for long. */
const COMMENT_INTERVAL = 3_000;

/** Looks at what a page shows, and resolves to another text when that has changed. */
export type Look = () => Promise<string>;

/**
 * Tells pages that what they show has changed, as server-sent events; the page then asks for it. Only while a
 * page is open does this process look, so that those which deliver need not know who watches.
 */
export class ChangeStreams {
  private readonly streams: EventStreams;

  constructor(logger: { error(message: string): void }) {
    this.streams = new EventStreams(MAX_PAGES, logger);
  }

  /**
   * @param tenant who reads the page; `undefined` for the operator
   * @throws {RequestRefusal} if too many pages of theirs are open; what `look` throws soon
   */
  open(tenant: string | undefined, look: Look): Promise<StreamedAnswer> {
    return this.streams.open(tenant, async () => {
      const first = look();
      // A refusal is most often known soon, so that the status of the answer can show it.
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
    // A slow database is not asked even more often.
    rest = Math.max(INTERVAL, performance.now() - begun);
  }
}

/** What a look resolves to, for which it has as long as a report; nothing once the time of the stream is over. */
async function* textOf(look: Promise<string>, time: StreamTime): AsyncGenerator<string, string | undefined> {
  const begun = performance.now();
  while (performance.now() - begun < REPORT_PATIENCE) {
    const text = await within(COMMENT_INTERVAL, look);
    if (text !== undefined || time.isOver) return text;
    yield commentText('looking');
  }
  throw new SilentConnectionError(REPORT_PATIENCE / 1_000);
}
