import type { RequestContext } from './request-context.types.js';
import type { TrackedType } from './track-options.types.js';

/** One decorator on one method, its options no longer typed by the method. */
export interface TrackDefinition {
  readonly type: TrackedType;
  /** As it stands in the source: `@Track("Order Completed")`. */
  readonly decorator: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a call came to. */
export interface CallOutcome {
  readonly failed: boolean;
  /** `undefined` of a call that failed. */
  readonly result: unknown;
  /** `undefined` of a call that succeeded. */
  readonly error: unknown;
}

/** A call that has ended. */
export interface TrackedCall extends CallOutcome {
  /** The method: `OrdersController.create`. */
  readonly method: string;
  readonly args: readonly unknown[];
  readonly context: RequestContext | undefined;
}
