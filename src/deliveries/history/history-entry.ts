import { type BatchMessage, sizeOfBodies, type UrlOutcome } from '../../queue/batch-job.js';
import { beginningOf } from '../../shared/beginning-of.js';
import { summaryOf } from '../message-body.js';
import { type EntryHead, KEPT_ATTEMPTS, KEPT_ENTRIES, type WrittenEntry } from './history-store.js';
import type { RecentDelivery } from './history.types.js';

/** Characters of an answer, and of the name of an event, that are kept. */
const TEXT_LENGTH = 256;

/** What became of a message. */
export interface EntryState {
  state: RecentDelivery['state'];
  /** Why it could not be tried at all. */
  error: string | undefined;
}

/**
 * What became of messages of a batch. Their entries are made late: that costs more than everything else here, and at a
 * high rate most of them are replaced before they are written.
 */
export class RecordedMessages {
  /** The last ones: the store would keep no others. */
  private readonly messages: readonly BatchMessage[];
  private readonly attempts: readonly (readonly UrlOutcome[])[];

  /**
   * @param messages with the outcomes of their attempts
   * @param attempts of each of them, those that nobody has recorded yet
   * @param isFirst whether nothing was recorded of these messages before
   */
  constructor(
    messages: readonly BatchMessage[],
    attempts: readonly (readonly UrlOutcome[])[],
    private readonly source: string,
    private readonly state: EntryState,
    readonly isFirst: boolean,
  ) {
    const isMany = messages.length > KEPT_ENTRIES;
    this.messages = isMany ? messages.slice(-KEPT_ENTRIES) : messages;
    this.attempts = isMany ? attempts.slice(-KEPT_ENTRIES) : attempts;
  }

  /** In messages. */
  get size(): number {
    return this.messages.length;
  }

  /** Characters of the bodies. */
  get bodySize(): number {
    return sizeOfBodies(this.messages);
  }

  /** @param firstOrdinal of the first message; the others have the next ones */
  entries(firstOrdinal: number): WrittenEntry[] {
    let head: EntryHead | undefined;
    return this.messages.map((message, index) => {
      const attempts = this.attempts[index] ?? [];
      head = this.headOf(message, head);
      return {
        messageId: message.id,
        ordinal: firstOrdinal + index,
        head,
        attempts: attempts.some(({ excerpt }) => excerpt !== undefined)
          ? attempts.map(withShortExcerpt)
          : attempts,
        isWhole: head.state === 'delivered' && attempts.length === message.outcomes.length,
      };
    });
  }

  /** @param last that of the message before, which nearly always says the same */
  private headOf({ body }: BatchMessage, last: EntryHead | undefined): EntryHead {
    const { type, event } = summaryOf(body);
    const name = event === undefined ? undefined : beginningOf(event, TEXT_LENGTH);
    if (last !== undefined && last.type === type && last.event === name) return last;
    return { type, event: name, source: this.source, ...this.state };
  }
}

/** The entry of a message, from an earlier and a later one. */
export function mergedEntry(earlier: WrittenEntry, later: WrittenEntry): WrittenEntry {
  const attempts = [...earlier.attempts, ...later.attempts].slice(-KEPT_ATTEMPTS);
  return { ...later, attempts, isWhole: false };
}

function withShortExcerpt(outcome: UrlOutcome): UrlOutcome {
  const { excerpt } = outcome;
  return excerpt === undefined ? outcome : { ...outcome, excerpt: beginningOf(excerpt, TEXT_LENGTH) };
}
