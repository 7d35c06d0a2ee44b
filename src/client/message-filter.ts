import type { AnalyticsMessage } from '../messages/message.types.js';
import { applyBeforeSend, type BeforeSend, BeforeSendThrew } from './before-send.js';

export interface MessageGateOptions {
  /** The application's hook, which sees each message last. */
  beforeSend: BeforeSend | undefined;
  /** Looks at each message before `beforeSend`: returns why it is refused, or throws to refuse the call. */
  refusal?: (message: AnalyticsMessage) => string | undefined;
}

/** Lets messages pass that the application has nothing against, and counts those that are refused. */
export class MessageGate {
  /** Messages that were refused since they were last counted. */
  private refused = 0;
  private reason = '';

  /** @param onRefused told why, for each message */
  constructor(
    private readonly options: MessageGateOptions,
    private readonly onRefused: (reason: string) => void,
  ) {}

  get count(): number {
    return this.refused;
  }

  /** Why the latest message was refused. */
  get latestReason(): string {
    return this.reason;
  }

  /** What is left of a message after all that may drop it; `null` when nothing is. */
  pass(message: AnalyticsMessage): AnalyticsMessage | null {
    const { refusal, beforeSend } = this.options;
    const reason = refusal?.(message);
    if (reason !== undefined) {
      this.refuse(reason);
      return null;
    }
    return beforeSend === undefined ? message : this.runBeforeSend(beforeSend, message);
  }

  refuse(reason: string): void {
    this.refused++;
    this.reason = reason;
    this.onRefused(reason);
  }

  /** The count, which begins anew. */
  takeCount(): number {
    const { refused } = this;
    this.refused = 0;
    return refused;
  }

  private runBeforeSend(beforeSend: BeforeSend, message: AnalyticsMessage): AnalyticsMessage | null {
    try {
      return applyBeforeSend(beforeSend, message);
    } catch (error) {
      if (!(error instanceof BeforeSendThrew)) throw error;
      this.refuse(error.message);
      return null;
    }
  }
}
