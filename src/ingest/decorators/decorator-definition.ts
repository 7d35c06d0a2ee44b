import type { RequestContext } from '../../options/request-context.types.js';
import type { DecoratorType } from './decorator-options.types.js';

/** One decorator on one method. Its options are no longer typed by the method. */
export interface DecoratorDefinition {
  readonly type: DecoratorType;
  /** As written in the code: `@Track("Order Completed")`. */
  readonly decorator: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The outcome of a call. */
export interface CallOutcome {
  readonly failed: boolean;
  /** `undefined` when the call failed. */
  readonly result: unknown;
  /** `undefined` when the call succeeded. */
  readonly error: unknown;
}

/** A call that has ended. */
export interface DecoratedCall extends CallOutcome {
  /** Name of the method: `OrdersController.create`. */
  readonly method: string;
  readonly args: readonly unknown[];
  readonly context: RequestContext | undefined;
}
