import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { Refusal } from './admission.js';
import type { OnDeletion } from './deletions.js';

/** What the rest of the module adds to each call, injected under `CALL_HOOKS`. */
export interface CallHooks {
  /** Returns what is known of the current request, which is merged over the application's context. */
  callContext(): JsonObject | undefined;
  /** Returns why a message is refused, or throws to refuse the call. Called before `beforeSend`. */
  refusal(message: AnalyticsMessage): Refusal | undefined;
  /** Called for every deletion that was taken, once per source. */
  readonly onDeletion: OnDeletion;
}

export const CALL_HOOKS = Symbol.for('nestjs-analytics:call-hooks');
