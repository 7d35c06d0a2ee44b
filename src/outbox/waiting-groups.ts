import type { WaitingGroup } from './outbox-store.js';
import type { RowDecision } from './row-reader.js';

/**
 * Groups the rows that wait for room by their destinations: a full destination may have thousands of rows, and each
 * group takes one statement. `destinations` are those that are left; `null` if they are the same as before.
 */
export function waitingGroups(decisions: readonly RowDecision[]): WaitingGroup[] {
  const groups = new Map<string, WaitingGroup>();
  for (const decision of decisions) {
    if (!('full' in decision)) continue;
    // A row that already names its destinations keeps them.
    const isSame = decision.kind === 'wait for room' && decision.row.destinations !== null;
    const destinations = isSame ? null : decision.full;
    const key = JSON.stringify(destinations);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { ids: [decision.row.id], destinations });
    else group.ids.push(decision.row.id);
  }
  return [...groups.values()];
}
