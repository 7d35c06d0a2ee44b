import type { Telemetry } from '../shared/telemetry.js';
import type { Clock } from '../shared/clock.js';
import type { Admission, Refusal } from './admission.js';
import type { TakenCall } from './backlog.js';
import type { FlushRules } from './batches.js';
import type { OutgoingOptions } from './outgoing-messages.js';
import type { Router } from './router.js';
import type { JobSink, UnsentMessages } from './sender.js';

export interface ClientCoreOptions extends FlushRules, OutgoingOptions {
  /** Limit for everything taken and not in the queue yet, in bytes of bodies. */
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
   * A message, or a copy of it, is not delivered for these reasons, one for each destination.
   *
   * @param number of a message that was taken before
   */
  onRefused(refusals: readonly Refusal[], call: TakenCall, number?: number): void;
  /** Whether anybody sees what becomes of each message. */
  isWatched(): boolean;
  /** The destinations of a message are known, and it was not refused. Called while somebody watches. */
  onRouted(call: TakenCall, isWanted: boolean): void;
  /** An add to the queue failed and will be repeated. */
  onAddFailed(error: unknown): void;
}

/** What did not get into the queue. */
export interface Losses extends UnsentMessages {
  /** In messages; one for two destinations counts once. */
  messages: number;
  /** Messages whose destinations were not looked up yet. */
  unrouted: number;
}
