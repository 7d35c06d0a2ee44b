import type { AnalyticsMessage } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import { applyBeforeSend, type BeforeSend, BeforeSendThrew, WrongReturn } from './before-send.js';
import type { Refusals } from './refusals.js';

export interface MessageFilterOptions {
  /** The application's hook; it sees each message last. */
  beforeSend: BeforeSend | undefined;
  /** Looks at each message before `beforeSend`: returns why it is refused, or throws to refuse the call. */
  refusal?: (message: AnalyticsMessage) => Refusal | undefined;
  /** Throws for a message that cannot be routed, whoever has made it so. @throws InvalidMessageError */
  check?: ((message: AnalyticsMessage) => void) | undefined;
}

/** Who has made a call. */
export interface Caller {
  /**
   * Whether it is another program. It can do nothing about what `beforeSend` returns, so that is counted and logged
   * here, and not thrown.
   */
  isReceived?: boolean;
  /** Whether it hears of a refusal in another way than from a flush. */
  isAnswered?: boolean;
}

/** Drops the messages that the application does not want, and counts those that are refused. */
export class MessageFilter {
  constructor(
    private readonly options: MessageFilterOptions,
    private readonly refusals: Pick<Refusals, 'add'>,
  ) {}

  /** What is left of a message after every filter: `null` if it is dropped, or why it is refused. */
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
