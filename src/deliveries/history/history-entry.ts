import { type BatchMessage, sizeOfBodies, type UrlOutcome } from '../../queue/batch-job.js';
import { beginningOf } from '../../shared/beginning-of.js';
import { summaryOf } from '../message-body.js';
import { type EntryHead, KEPT_ATTEMPTS, KEPT_ENTRIES, type WrittenEntry } from './history-store.js';
import type { RecentDelivery } from './history.types.js';

/** Maximum number of characters that are kept of an answer, and of the name of an event. */
const TEXT_LENGTH = 256;

/** What became of a message. */
export interface EntryState {
  state: RecentDelivery['state'];
  /** Why the message could not be tried at all. */
  error: string | undefined;
}

/**
 * What became of messages of a batch. Their entries are made late: making an entry costs more than everything else
 * here, and at a high rate most messages are replaced before they are written.
 */
export class RecordedMessages {
  /** Only the last messages: the store would keep no others. */
  private readonly messages: readonly BatchMessage[];
  private readonly attempts: readonly (readonly UrlOutcome[])[];

  /**
   * @param messages with the outcomes of their attempts
   * @param attempts of each message, as far as they are not recorded yet
   * @param isFirst whether none of these messages was recorded before
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

  /** Number of messages. */
  get size(): number {
    return this.messages.length;
  }

  /** Characters of the bodies. */
  get bodySize(): number {
    return sizeOfBodies(this.messages);
  }

  /** @param firstOrdinal ordinal of the first message; the others have the following ordinals */
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

  /** @param last head of the message before, which is nearly always the same */
  private headOf({ body }: BatchMessage, last: EntryHead | undefined): EntryHead {
    const { type, event } = summaryOf(body);
    const name = event === undefined ? undefined : beginningOf(event, TEXT_LENGTH);
    if (last !== undefined && last.type === type && last.event === name) return last;
    return { type, event: name, source: this.source, ...this.state };
  }
}

/** Merges an earlier and a later entry of a message. */
export function mergedEntry(earlier: WrittenEntry, later: WrittenEntry): WrittenEntry {
  const attempts = [...earlier.attempts, ...later.attempts].slice(-KEPT_ATTEMPTS);
  return { ...later, attempts, isWhole: false };
}

function withShortExcerpt(outcome: UrlOutcome): UrlOutcome {
  const { excerpt } = outcome;
  return excerpt === undefined ? outcome : { ...outcome, excerpt: beginningOf(excerpt, TEXT_LENGTH) };
}
