import type { RowDecision } from './row-reader.js';

/** Rows that are looked at again at the same time. */
export interface PutOff {
  readonly ids: number[];
  /** In milliseconds. */
  readonly delay: number;
  /** Ids of the destinations that are left; `undefined` if the rows need not be told. */
  readonly destinations: readonly string[] | undefined;
}

/** The rows that are put off, in groups: a full destination may have thousands, and each group is one statement. */
export function putOff(decisions: readonly RowDecision[]): PutOff[] {
  const groups = new Map<string, PutOff>();
  for (const decision of decisions) {
    if (!('delay' in decision)) continue;
    const { row, delay } = decision;
    const destinations = leftOf(decision);
    const key = JSON.stringify([delay, destinations]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ids: [row.id], delay, destinations });
    else group.ids.push(row.id);
  }
  return [...groups.values()];
}

function leftOf(decision: RowDecision): readonly string[] | undefined {
  if (decision.kind === 'move in part') return decision.full;
  // A row that names its destinations already keeps them.
  const isTold = decision.kind !== 'wait' || decision.full.length === 0 || decision.row.destinations !== null;
  return isTold ? undefined : decision.full;
}
