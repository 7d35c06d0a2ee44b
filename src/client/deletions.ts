import type { TakenDeletion } from '../deliveries/deletion-key.js';
import type { DeleteParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, DeleteMessage } from '../messages/message.types.js';
import type { PreparedMessage } from './message-factory.js';
import type { Refusals } from './refusals.js';
import type { Router } from './router.js';

/** The sources that a deletion is for. */
export interface DeletionSources {
  readonly names: readonly [string, ...string[]];
  /** Whether the call named none, so that these are all that the application has now. */
  readonly areAll: boolean;
}

/** What a deletion is for beside the source and the tenant of each of its messages. */
export interface DeletionTerms {
  readonly isOfAllSources: boolean;
  /** Whether it is for all tenants, whichever one each source is bound to. */
  readonly isOfAllTenants: boolean;
}

/** What of a deletion's message is needed once it was taken. */
export type DeletionOfUser = Pick<DeleteMessage, 'type' | 'userId'>;

/**
 * Never rejects.
 *
 * @param at when the user was deleted, in milliseconds since the epoch. @default now
 * @returns whether the deletion is stored; `false` if the application closes before
 */
export type OnDeletion = (deletion: TakenDeletion, at?: number) => Promise<boolean>;

/** Deletions of users: one message for each source that has a destination. */
export class Deletions {
  /**
   * @param takeCall takes the message of one source
   * @param onDeletion called for every deletion that was taken, once per source
   */
  constructor(
    private readonly takeCall: (source: string, params: DeleteParams, tenant?: string) => PreparedMessage,
    private readonly router: Router,
    private readonly refusals: Pick<Refusals, 'add'>,
    private readonly onDeletion: OnDeletion | undefined,
  ) {}

  /** Takes a deletion. Returns the messageId of the first message. */
  take(sources: DeletionSources, params: DeleteParams, boundTo?: string): string {
    const [first, ...others] = this.affectedBy(sources);
    const terms = this.termsOf(sources, boundTo);
    const messageId = this.takeOne(first, terms, params, boundTo);
    for (const source of others) this.takeOne(source, terms, params, boundTo);
    this.refuseForwarded();
    return messageId;
  }

  /** The sources of a deletion that have a destination; the first one, if none has. */
  affectedBy({ names }: DeletionSources): [string, ...string[]] {
    const [first = names[0], ...others] = names.filter((source) => this.router.leads(source));
    return [first, ...others];
  }

  /** @param boundTo the tenant that the call names */
  termsOf({ areAll }: DeletionSources, boundTo: string | undefined): DeletionTerms {
    return { isOfAllSources: areAll, isOfAllTenants: areAll && boundTo === undefined };
  }

  /** Counts a deletion that no other program takes. */
  refuseForwarded(): void {
    if (!this.router.forwards) return;
    const reason =
      'a deletion cannot be forwarded by a write key, so call `delete()` in the application behind `endpoint`';
    this.refusals.add([{ kind: 'forwarded_deletion', reason }]);
  }

  /** Whether a message has more to do than to reach its destinations, so that it counts without any. */
  hasMoreToDo({ type }: AnalyticsMessage): boolean {
    return type === 'delete' && this.onDeletion !== undefined;
  }

  /** What is needed of such a message later; `undefined` for any other. */
  ofUser(message: AnalyticsMessage): DeletionOfUser | undefined {
    if (message.type !== 'delete' || this.onDeletion === undefined) return undefined;
    return { type: message.type, userId: message.userId };
  }

  /**
   * A message was taken: one that deletes a user has more to do. Never rejects.
   *
   * @param where `tenant` is the one whose message it is
   * @param at when that was, in milliseconds since the epoch. @default now
   * @returns whether that is stored; `false` if the application closes before
   */
  async onTaken(
    message: AnalyticsMessage | DeletionOfUser,
    { isOfAllTenants, tenant, ...where }: Omit<TakenDeletion, 'userId'> & DeletionTerms,
    at?: number,
  ): Promise<boolean> {
    if (message.type !== 'delete' || this.onDeletion === undefined) return true;
    const { userId } = message;
    return this.onDeletion({ userId, ...where, tenant: isOfAllTenants ? undefined : tenant }, at);
  }

  private takeOne(
    source: string,
    terms: DeletionTerms,
    params: DeleteParams,
    boundTo: string | undefined,
  ): string {
    const { messageId, message, tenant } = this.takeCall(source, params, boundTo);
    if (message !== null) void this.onTaken(message, { source, tenant, ...terms });
    return messageId;
  }
}
