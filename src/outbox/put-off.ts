import type { RowDecision } from './row-reader.js';

/** Rows that are looked at again at the same time. */
export interface PutOff {
  readonly ids: number[];
  /** In milliseconds; `undefined` if they wait for room at a destination. */
  readonly delay: number | undefined;
  /** Ids of the destinations that are left; `null` if they are the same as before. */
  readonly destinations: readonly string[] | null;
}

/** The rows that are put off, in groups: a full destination may have thousands, and each group is one statement. */
export function putOff(decisions: readonly RowDecision[]): PutOff[] {
  const groups = new Map<string, PutOff>();
  for (const decision of decisions) {
    if (!('delay' in decision || 'full' in decision)) continue;
    const delay = 'delay' in decision ? decision.delay : undefined;
    const destinations = leftOf(decision);
    const key = JSON.stringify([delay, destinations]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ids: [decision.row.id], delay, destinations });
    else group.ids.push(decision.row.id);
  }
  return [...groups.values()];
}

function leftOf(decision: RowDecision): readonly string[] | null {
  if (decision.kind === 'move in part') return decision.full;
  // A row that names its destinations already keeps them.
  return decision.kind === 'wait for room' && decision.row.destinations === null ? decision.full : null;
}
