import type { StreamedAnswer } from '../http/http-answer.js';
import { commentText, EventStreams, eventText, inTime, type StreamTime } from './event-streams.js';

/** Pages of one tenant, or of the operator, that are told of changes at the same time. */
const MAX_PAGES = 20;
/** How often it is looked whether something has changed, in milliseconds: as often as the history is written. */
const INTERVAL = 2_000;

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
   * @throws {RequestRefusal} if too many pages of theirs are open; what `look` throws
   */
  open(tenant: string | undefined, look: Look): Promise<StreamedAnswer> {
    return this.streams.open(tenant, async () => {
      const first = await inTime(look());
      return (time) => changes(first, look, time);
    });
  }
}

async function* changes(first: string, look: Look, time: StreamTime): AsyncGenerator<string> {
  let known = first;
  yield eventText('ready', {});
  for (;;) {
    await time.pause(INTERVAL);
    if (time.isOver) return;
    const found = await inTime(look());
    yield found === known ? commentText('no change') : eventText('changed', {});
    known = found;
  }
}
