import type { AnalyticsMessage } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import { applyBeforeSend, type BeforeSend, BeforeSendThrew, WrongReturn } from './before-send.js';

export interface MessageFilterOptions {
  /** The application's hook; it sees each message last. */
  beforeSend: BeforeSend | undefined;
  /** Looks at each message before `beforeSend`: returns why it is refused, or throws to refuse the call. */
  refusal?: (message: AnalyticsMessage) => Refusal | undefined;
}

/** Drops the messages that the application does not want, and counts those that are refused. */
export class MessageFilter {
  /** Messages that were refused since they were last counted. */
  private refused = 0;
  private refusedBefore = 0;
  private latest: Refusal | undefined;

  /** @param onRefused called for each message */
  constructor(
    private readonly options: MessageFilterOptions,
    private readonly onRefused: (refusal: Refusal) => void,
  ) {}

  get count(): number {
    return this.refused;
  }

  /** Messages that were refused since the start. */
  get total(): number {
    return this.refusedBefore + this.refused;
  }

  /** Why the latest message was refused, if one was since the count was this one. */
  refusedSince(count: number): Refusal | undefined {
    return this.refused > count ? this.latest : undefined;
  }

  /**
   * What is left of a message after every filter; `null` if it is dropped.
   *
   * @param isReceived whether another program has sent it. It can do nothing about what `beforeSend` returns, so that
   *   is counted and logged here, and not thrown
   */
  pass(message: AnalyticsMessage, isReceived = false): AnalyticsMessage | null {
    const { refusal, beforeSend } = this.options;
    const refused = refusal?.(message);
    if (refused !== undefined) {
      this.refuse(refused);
      return null;
    }
    return beforeSend === undefined ? message : this.runBeforeSend(beforeSend, message, isReceived);
  }

  refuse(refusal: Refusal): void {
    this.refused++;
    this.latest = refusal;
    this.onRefused(refusal);
  }

  /** Returns the count and resets it. */
  takeCount(): number {
    const { refused } = this;
    this.refusedBefore += refused;
    this.refused = 0;
    return refused;
  }

  private runBeforeSend(
    beforeSend: BeforeSend,
    message: AnalyticsMessage,
    isReceived: boolean,
  ): AnalyticsMessage | null {
    try {
      return applyBeforeSend(beforeSend, message);
    } catch (error) {
      if (error instanceof WrongReturn && !isReceived) throw error.error;
      if (!(error instanceof BeforeSendThrew || error instanceof WrongReturn)) throw error;
      const forTenant = `\`beforeSend\` ${error instanceof WrongReturn ? 'returned no message' : 'threw'}`;
      this.refuse({ kind: 'before_send', reason: error.message, forTenant });
      return null;
    }
  }
}
