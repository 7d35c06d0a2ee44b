import { thrownAt } from '../shared/thrown-at.js';
import type { RefusalKind } from '../shared/telemetry.js';
import type { OutgoingTerms } from './outgoing-messages.js';
import type { SourceConnection } from './router.js';
import { TenantThrew } from '../destinations/tenant-threw.js';

/** Why a message is not delivered. */
export interface Refusal {
  kind: RefusalKind;
  /** The reason as text, with details that only the operator may know. */
  reason: string;
  /** The reason without details that only the operator may know. @default `reason` */
  forTenant?: string;
  /** The reason for the log, in words that do not change from message to message. @default `reason` */
  logged?: string | undefined;
}

/** Terms on which a message is taken. */
export interface TakingTerms extends OutgoingTerms {
  /**
   * Called with the first reason if the message is refused after its destinations were looked up. The refusal has
   * already been counted.
   */
  onRefused?: ((refusal: Refusal) => void) | undefined;
  /** Called if no destination takes the message, at once or after its destinations were looked up. */
  onDropped?: (() => void) | undefined;
}

export const NO_ROOM: Refusal = {
  kind: 'buffer_full',
  reason: 'the buffer is full (`maxBufferedBytes`): messages come faster than the queue takes them',
  forTenant: 'the buffer is full',
};

export const NO_REFUSALS: readonly Refusal[] = [];

/** Log text that destinations at run time share, since those of many customers may be full at once. */
const FULL_AT_RUN_TIME =
  'too many messages wait for destinations that were added at run time (`destinations.backlogLimit`; `endpoints$` ' +
  'reports each destination)';

/** Returns the refusal of a full destination. Tenants must not learn of the application's own destinations. */
function backlogFull({ wasAddedAtRunTime = false }: SourceConnection, reason: string): Refusal {
  return {
    kind: 'backlog_full',
    reason,
    forTenant: 'a destination takes no more messages: too many wait for it',
    logged: wasAddedAtRunTime ? FULL_AT_RUN_TIME : undefined,
  };
}

/** Returns the refusal of a message whose destinations could not be looked up. */
export function lookupFailed(error: unknown): Refusal {
  const forTenant = 'its destinations could not be looked up';
  const reason = error instanceof TenantThrew ? error.message : thrownAt(error);
  return { kind: 'lookup_failed', reason: `${forTenant} (${reason})`, forTenant };
}

/** Refusal of a message whose destinations were not known in time, so that its caller stops waiting. */
export const LOOKED_UP_TOO_LATE: Refusal = {
  kind: 'lookup_failed',
  reason: 'its destinations could not be looked up in time',
};

/** Decides whether a connection takes a message now. Called for every message, so it must be cheap. */
export interface Admission {
  /** Returns why the connection takes no message now, or `undefined` if it takes one. */
  refusal(connection: SourceConnection): string | undefined;
  /** Called when a message was not refused and is on its way to the queue. */
  admitted?(connection: SourceConnection): void;
}

/** The connections that take a message now, and a refusal for each of the others. */
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
