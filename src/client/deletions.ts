import type { DeleteParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { MessageFilter } from './message-filter.js';
import type { Router } from './router.js';

/** Sources, of which there is at least one. */
type Sources = readonly [string, ...string[]];

/**
 * Never rejects.
 *
 * @param at when the user was deleted, in milliseconds since the epoch. @default now
 * @returns whether the deletion is stored; `false` if the application closes before
 */
export type OnDeletion = (userId: string, source: string, at?: number) => Promise<boolean>;

/** Deletions of users: one message for each source that has a destination. */
export class Deletions {
  /**
   * @param takeCall takes the message of one source, and returns its messageId
   * @param onDeletion called for every deletion that was taken, once per source
   */
  constructor(
    private readonly takeCall: (source: string, params: DeleteParams, tenant?: string) => string,
    private readonly router: Router,
    private readonly filter: MessageFilter,
    private readonly onDeletion: OnDeletion | undefined,
  ) {}

  /** Takes a deletion. Returns the messageId of the first message. */
  take(sources: Sources, params: DeleteParams, tenant?: string): string {
    const [first, ...others] = this.affectedBy(sources);
    const messageId = this.takeCall(first, params, tenant);
    for (const source of others) this.takeCall(source, params, tenant);
    this.refuseForwarded();
    return messageId;
  }

  /** The sources of a deletion that have a destination; the first one, if none has. */
  affectedBy(sources: Sources): [string, ...string[]] {
    const [first = sources[0], ...others] = sources.filter((source) => this.router.leads(source));
    return [first, ...others];
  }

  /** Counts a deletion that no other program takes. */
  refuseForwarded(): void {
    if (!this.router.forwards) return;
    const reason =
      'a deletion cannot be forwarded by a write key, so call `delete()` in the application behind `endpoint`';
    this.filter.refuse({ kind: 'forwarded_deletion', reason });
  }

  /** Whether a message has more to do than to reach its destinations, so that it counts without any. */
  hasMoreToDo({ type }: AnalyticsMessage): boolean {
    return type === 'delete' && this.onDeletion !== undefined;
  }

  /**
   * A message was taken: one that deletes a user has more to do. Never rejects.
   *
   * @param at when that was, in milliseconds since the epoch. @default now
   * @returns whether that is stored; `false` if the application closes before
   */
  async onTaken(source: string, message: AnalyticsMessage, at?: number): Promise<boolean> {
    if (message.type !== 'delete' || this.onDeletion === undefined) return true;
    return this.onDeletion(message.userId, source, at);
  }
}
