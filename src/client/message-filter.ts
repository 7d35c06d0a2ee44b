import type { AnalyticsMessage } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import { applyBeforeSend, type BeforeSend, BeforeSendThrew, WrongReturn } from './before-send.js';
import type { Refusals } from './refusals.js';

export interface MessageFilterOptions {
  /** The application's hook, which sees each message last. */
  beforeSend: BeforeSend | undefined;
  /** Called with each message before `beforeSend`. Returns why the message is refused, or throws to refuse the call. */
  refusal?: (message: AnalyticsMessage) => Refusal | undefined;
  /** Called before and after `beforeSend`. Throws for a message that cannot be routed. @throws InvalidMessageError */
  check?: ((message: AnalyticsMessage) => void) | undefined;
}

/** Who made a call. */
export interface Caller {
  /**
   * Whether the caller is another program. Such a caller can do nothing about a wrong return of `beforeSend`, so this
   * is counted and logged, and not thrown.
   */
  isReceived?: boolean;
  /** Whether the caller learns of a refusal directly, so that no flush reports it. */
  isAnswered?: boolean;
}

/** Drops the messages that the application does not want, and counts those that are refused. */
export class MessageFilter {
  constructor(
    private readonly options: MessageFilterOptions,
    private readonly refusals: Pick<Refusals, 'add'>,
  ) {}

  /** Returns what every filter leaves of a message, the refusal if it is refused, or `null` if it is dropped. */
  pass(message: AnalyticsMessage, caller: Caller = {}): AnalyticsMessage | Refusal | null {
    const { refusal, beforeSend, check } = this.options;
    check?.(message);
    const refused = refusal?.(message);
    if (refused !== undefined) return this.refuse(refused, caller);
    return beforeSend === undefined ? message : this.runBeforeSend(beforeSend, message, caller);
  }

  private runBeforeSend(
    beforeSend: BeforeSend,
    message: AnalyticsMessage,
    caller: Caller,
  ): AnalyticsMessage | Refusal | null {
    try {
      return applyBeforeSend(beforeSend, message, this.options.check);
    } catch (error) {
      if (error instanceof WrongReturn && caller.isReceived !== true) throw error.error;
      if (!(error instanceof BeforeSendThrew || error instanceof WrongReturn)) throw error;
      const forTenant = `\`beforeSend\` ${error instanceof WrongReturn ? 'returned no message' : 'threw'}`;
      return this.refuse({ kind: 'before_send', reason: error.message, forTenant }, caller);
    }
  }

  private refuse(refusal: Refusal, { isAnswered }: Caller): Refusal {
    this.refusals.add([refusal], { isAnswered });
    return refusal;
  }
}
