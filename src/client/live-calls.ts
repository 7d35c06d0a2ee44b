import { AnalyticsClosedError } from '../errors/message.errors.js';
import { type LiveCall, withoutMessage } from '../live/live-event.js';
import type { LiveEvents } from '../live/live-events.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import type { Caller, MessageFilter } from './message-filter.js';

/** A call, or a message that another program sent, before its checks. */
export interface UncheckedCall {
  source: string;
  tenant: string | undefined;
  type: unknown;
  fields: unknown;
}

/** Shows those who watch the console what becomes of each call. */
export class LiveCalls {
  /**
   * @param live `undefined` in an application that shows nothing
   * @param hidesContents whether the application has a `beforeSend`, which may remove contents that nobody should see
   */
  constructor(
    private readonly live: LiveEvents | undefined,
    private readonly hidesContents: boolean,
  ) {}

  /** Whether anybody sees what becomes of each message. */
  get isWatched(): boolean {
    return this.live?.isWatched === true;
  }

  /**
   * Returns a call to show later, without its message, which takes far more memory; `undefined` if nobody watches.
   *
   * @param owner tenant of the event; `''` if there is none
   */
  toldLater(call: LiveCall, owner: string): LiveCall | undefined {
    return this.isWatched ? withoutMessage(call, owner) : undefined;
  }

  /** Shows a message whose destinations are known. @param isWanted whether there are any */
  routed(call: LiveCall, isWanted: boolean): void {
    if (isWanted) this.live?.add('taken', call);
    else this.live?.add('dropped', call, 'no destination takes it');
  }

  /** Shows each reason why a message is not delivered, or not to all of its destinations. */
  refused(call: LiveCall, refusals: readonly Refusal[]): void {
    if (!this.isWatched) return;
    // Refusals of several destinations may have the same reason for the tenant, who sees it once.
    const told = new Set<string>();
    for (const { reason, forTenant = reason } of refusals) {
      this.live?.add('refused', call, reason, forTenant, !told.has(forTenant));
      told.add(forTenant);
    }
  }

  /** Returns what a filter leaves of a message. If the filter drops or refuses it, shows that and returns `null`. */
  passed(
    filter: MessageFilter,
    source: string,
    message: AnalyticsMessage,
    tenant: string | undefined,
    caller?: Caller,
  ): AnalyticsMessage | null {
    const passed = filter.pass(message, caller);
    if (passed !== null && !('reason' in passed)) return passed;
    if (this.live?.isWatched !== true) return null;
    const call = { source, tenant, type: message.type, ...(!this.hidesContents && { message }) };
    if (passed === null) this.live.add('dropped', call, '`beforeSend` returned null');
    else this.refused(call, [passed]);
    return null;
  }

  /** Shows that a call threw. @throws the error */
  failed({ source, tenant, type, fields }: UncheckedCall, error: unknown): never {
    if (this.live?.isWatched === true && !(error instanceof AnalyticsClosedError)) {
      const name = this.hidesContents ? undefined : nameIn(fields);
      this.live.addError(error, { source, tenant, type: typeof type === 'string' ? type : undefined, name });
    }
    throw error;
  }
}

function nameIn(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const name: unknown = Reflect.get(fields, 'event') ?? Reflect.get(fields, 'name');
  return typeof name === 'string' ? name : undefined;
}
