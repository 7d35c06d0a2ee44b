import type { Telemetry } from '../shared/telemetry.js';
import type { Clock } from '../shared/clock.js';
import type { Admission, Refusal } from './admission.js';
import type { TakenCall } from './backlog.js';
import type { FlushRules } from './batches.js';
import type { OutgoingOptions } from './outgoing-messages.js';
import type { Router } from './router.js';
import type { JobSink, UnsentMessages } from './sender.js';

export interface ClientCoreOptions extends FlushRules, OutgoingOptions {
  /** Limit for the bodies of all messages that were taken and are not in the queue yet, in bytes. */
  maxBufferedBytes: number;
}

export interface ClientCoreParts {
  router: Router;
  /** The queue. */
  sink: JobSink;
  /** @default every connection takes every message */
  admission?: Admission | undefined;
  /** @default nothing is measured */
  telemetry?: Telemetry | undefined;
  /** @default the system's */
  clock?: Clock | undefined;
}

export interface ClientCoreObserver {
  /**
   * Called when a message, or its copy for one destination, is not delivered.
   *
   * @param refusals one reason for each destination
   * @param number number of the message, if it was taken before
   */
  onRefused(refusals: readonly Refusal[], call: TakenCall, number?: number): void;
  /** Whether anybody sees what becomes of each message. */
  isWatched(): boolean;
  /** Called while somebody watches, when a message's destinations are known and it was not refused. */
  onRouted(call: TakenCall, isWanted: boolean): void;
  /** Called when an add to the queue failed. The add will be repeated. */
  onAddFailed(error: unknown): void;
}

/** What did not get into the queue. */
export interface Losses extends UnsentMessages {
  /** Number of messages. A message for two destinations counts once. */
  messages: number;
  /** Messages whose destinations were not looked up yet. */
  unrouted: number;
}
