import { thrownAt } from '../shared/thrown-at.js';
import type { RefusalKind } from '../shared/telemetry.js';
import type { OutgoingTerms } from './outgoing-messages.js';
import type { SourceConnection } from './router.js';
import { TenantThrew } from '../destinations/tenant-threw.js';

/** Why a message is not delivered. */
export interface Refusal {
  kind: RefusalKind;
  /** In words. */
  reason: string;
  /** The same without what only the operator may know. @default `reason` */
  forTenant?: string;
  /** The same, in words that do not change from message to message, for the log. @default `reason` */
  logged?: string | undefined;
}

/** How a message is taken. */
export interface TakingTerms extends OutgoingTerms {
  /**
   * Called if the message is refused after its destinations were looked up, with the first reason of several. It has been
   * counted by then.
   */
  onRefused?: ((refusal: Refusal) => void) | undefined;
}

export const NO_ROOM: Refusal = {
  kind: 'buffer_full',
  reason: 'the buffer is full (`maxBufferedBytes`): messages come faster than the queue takes them',
  forTenant: 'the buffer is full',
};

export const NO_REFUSALS: readonly Refusal[] = [];

/** One reason for the log, since those of many customers may be full at once. */
const FULL_AT_RUN_TIME =
  'as many messages wait for destinations that were added at run time as `destinations.backlogLimit` allows ' +
  '(`endpoints$` reports each)';

/** A destination has reached its limit. No tenant may know of those of the application. */
function backlogFull({ wasAddedAtRunTime = false }: SourceConnection, reason: string): Refusal {
  return {
    kind: 'backlog_full',
    reason,
    forTenant: 'a destination takes no more: too many messages wait for it',
    logged: wasAddedAtRunTime ? FULL_AT_RUN_TIME : undefined,
  };
}

/** The destinations of a message could not be looked up. */
export function lookupFailed(error: unknown): Refusal {
  const forTenant = 'its destinations could not be looked up';
  const reason = error instanceof TenantThrew ? error.message : thrownAt(error);
  return { kind: 'lookup_failed', reason: `${forTenant} (${reason})`, forTenant };
}

/** The destinations of a message were not known in time, so its caller waits no longer. */
export const LOOKED_UP_TOO_LATE: Refusal = {
  kind: 'lookup_failed',
  reason: 'its destinations could not be looked up in time',
};

/** Decides whether a connection takes a message now. It is asked for every message, so it must be cheap. */
export interface Admission {
  /** The reason why it takes none; `undefined` if it does. */
  refusal(connection: SourceConnection): string | undefined;
  /** Called when a message was not refused and is on its way to the queue. */
  admitted?(connection: SourceConnection): void;
}

/** Which connections take a message now, and why each of the others does not. */
export interface Admitted {
  readonly connections: readonly SourceConnection[];
  readonly refusals: readonly Refusal[];
}

/** @param admission `undefined` in an application without limits */
export function admit(connections: readonly SourceConnection[], admission: Admission | undefined): Admitted {
  let refused: Map<SourceConnection, string> | undefined;
  if (admission !== undefined) {
    for (const connection of connections) {
      const refusal = admission.refusal(connection);
      if (refusal !== undefined) (refused ??= new Map<SourceConnection, string>()).set(connection, refusal);
    }
  }
  if (refused === undefined) return { connections, refusals: NO_REFUSALS };
  return {
    connections: connections.filter((connection) => !refused.has(connection)),
    refusals: Array.from(refused, ([connection, reason]) => backlogFull(connection, reason)),
  };
}
