import type { MessageType } from '../../messages/message.types.js';
import type { BatchMessage, UrlOutcome } from '../../queue/batch-job.js';
import { summaryOf } from '../message-body.js';
import { type EntryHead, KEPT_ATTEMPTS, type WrittenEntry } from './history-store.js';
import type { RecentDelivery } from './history.types.js';

/** Characters of an answer, and of the name of an event, that are kept. */
const TEXT_LENGTH = 256;

/** What became of a message. */
export interface EntryState {
  state: RecentDelivery['state'];
  /** Why it could not be tried at all. */
  error: string | undefined;
}

/** What happened to one message at one destination, before it is stored. */
export class HistoryEntry {
  readonly messageId: string;
  private attempts: readonly UrlOutcome[];
  /** Until it is summarised. */
  private body: string | undefined;
  private type: MessageType | undefined;
  private event: string | undefined;
  private isWhole: boolean;

  /**
   * @param attempts those that nobody has recorded yet
   * @param ordinal see `StoredEntry`
   */
  constructor(
    { id, body, outcomes }: BatchMessage,
    private readonly source: string,
    private state: EntryState,
    attempts: readonly UrlOutcome[],
    private ordinal: number,
  ) {
    this.messageId = id;
    this.body = body;
    this.attempts = attempts;
    this.isWhole = state.state === 'delivered' && attempts.length === outcomes.length;
  }

  /** Takes over a later state of the same message. */
  follow({ state, attempts, ordinal }: HistoryEntry): void {
    this.state = state;
    this.ordinal = ordinal;
    this.isWhole = false;
    this.attempts = latest([...this.attempts, ...attempts]);
  }

  /**
   * Keeps the parts of the body that are shown, and drops the rest. It is called late: parsing costs more
   * than everything else here, and at a high rate most entries are replaced before they are written.
   */
  summarize(): void {
    if (this.body === undefined) return;
    const { type, event } = summaryOf(this.body);
    this.type = type;
    this.event = event === undefined ? undefined : cut(event);
    this.body = undefined;
  }

  get stored(): WrittenEntry {
    const { messageId, ordinal, attempts, isWhole, type, event, source } = this;
    const { state, error } = this.state;
    const head: EntryHead = { type, event, source, state, error };
    const isShort = attempts.every(({ excerpt }) => excerpt === undefined);
    return {
      messageId,
      ordinal,
      head,
      attempts: isShort ? attempts : attempts.map(withShortExcerpt),
      isWhole,
    };
  }
}

function latest<T>(attempts: T[]): T[] {
  return attempts.length > KEPT_ATTEMPTS ? attempts.slice(-KEPT_ATTEMPTS) : attempts;
}

function withShortExcerpt(outcome: UrlOutcome): UrlOutcome {
  const { excerpt } = outcome;
  return excerpt === undefined ? outcome : { ...outcome, excerpt: cut(excerpt) };
}

/** A surrogate whose other half is cut off becomes U+FFFD. */
function cut(text: string): string {
  return text.length > TEXT_LENGTH ? text.slice(0, TEXT_LENGTH).toWellFormed() : text;
}
