import type { TakenDeletion } from '../deliveries/deletion-key.js';
import type { DeleteParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, DeleteMessage } from '../messages/message.types.js';
import type { PreparedMessage } from './message-factory.js';
import type { Refusals } from './refusals.js';
import type { Router } from './router.js';

/** The sources that a deletion is for. */
export interface DeletionSources {
  readonly names: readonly [string, ...string[]];
  /** Whether the call named no sources, so that `names` lists all sources that the application has now. */
  readonly areAll: boolean;
}

/** Scope of a deletion beyond the source and the tenant of each of its messages. */
export interface DeletionTerms {
  readonly isOfAllSources: boolean;
  /** Whether the deletion is for all tenants, whichever tenant each source is bound to. */
  readonly isOfAllTenants: boolean;
}

/** The fields of a deletion's message that are needed after it was taken. */
export type DeletionOfUser = Pick<DeleteMessage, 'type' | 'userId'>;

/**
 * Stores a deletion that was taken. Never rejects.
 *
 * @param at time at which the user was deleted, in milliseconds since the epoch. @default now
 * @returns whether the deletion is stored; `false` if the application closes first
 */
export type OnDeletion = (deletion: TakenDeletion, at?: number) => Promise<boolean>;

/** Takes deletions of users: one message for each source that has a destination. */
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

  /** Returns the sources of a deletion that have a destination, or the first source if none has. */
  affectedBy({ names }: DeletionSources): [string, ...string[]] {
    const [first = names[0], ...others] = names.filter((source) => this.router.leads(source));
    return [first, ...others];
  }

  /** @param boundTo the tenant that the call names */
  termsOf({ areAll }: DeletionSources, boundTo: string | undefined): DeletionTerms {
    return { isOfAllSources: areAll, isOfAllTenants: areAll && boundTo === undefined };
  }

  /** Counts a deletion as refused in an application that forwards its messages: no other program takes deletions. */
  refuseForwarded(): void {
    if (!this.router.forwards) return;
    const reason =
      'a deletion cannot be forwarded by a write key, so call `delete()` in the application behind `endpoint`';
    this.refusals.add([{ kind: 'forwarded_deletion', reason }]);
  }

  /** Whether a message is a deletion that `onDeletion` stores, so that it is needed even without a destination. */
  hasMoreToDo({ type }: AnalyticsMessage): boolean {
    return type === 'delete' && this.onDeletion !== undefined;
  }

  /** Returns the fields of such a deletion that are needed later, or `undefined` for any other message. */
  ofUser(message: AnalyticsMessage): DeletionOfUser | undefined {
    if (message.type !== 'delete' || this.onDeletion === undefined) return undefined;
    return { type: message.type, userId: message.userId };
  }

  /**
   * Stores a deletion after its message was taken, and ignores other messages. Never rejects.
   *
   * @param where `tenant` is the tenant of the message
   * @param at time at which the message was taken, in milliseconds since the epoch. @default now
   * @returns `false` if the application closes before the deletion is stored
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
