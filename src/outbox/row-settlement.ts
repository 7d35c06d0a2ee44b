import type { AnalyticsClient } from '../client/analytics-client.js';
import { within } from '../shared/within.js';
import type { OutboxLog } from './outbox-log.js';
import type { OutboxStore } from './outbox-store.js';
import { NEVER_CLAIMED } from './outbox-table.js';
import type { RowDecision } from './row-reader.js';
import { waitingGroups } from './waiting-groups.js';

/** Longest wait for a deletion to be stored, in milliseconds. All rows wait with it. */
const STORING_PATIENCE = 1_000;
/** Time until the row of a deletion that took longer is read again, in milliseconds. */
const BEGIN_AGAIN_AFTER = 5_000;

export interface RowSettlementParts {
  store: OutboxStore;
  client: Pick<AnalyticsClient, 'live' | 'deletions'>;
  log: OutboxLog;
}

/** Carries out decisions about rows: first begins deletions, then does the rest once rows to move are in the queue. */
export class RowSettlement {
  constructor(private readonly parts: RowSettlementParts) {}

  /**
   * Begins deletions before their rows can be deleted, since a process may die or close at any moment. Resolves to the
   * decisions. A row whose deletion is not stored is left alone.
   */
  begin(decisions: readonly RowDecision[]): Promise<RowDecision[]> {
    return Promise.all(decisions.map((decision) => this.begun(decision)));
  }

  /**
   * Shows rows whose destinations are known, if anybody watches. A row that has to wait for room at some of them is
   * read again, but not shown again. Returns the ids of the rows that can be deleted.
   */
  tell(decisions: readonly RowDecision[]): number[] {
    const done: number[] = [];
    for (const decision of decisions) {
      const { row, kind } = decision;
      if ('call' in decision && decision.call !== undefined && kind !== 'wait') {
        this.parts.client.live.routed(decision.call, kind !== 'drop');
      }
      if (kind === 'drop' || kind === 'move') done.push(row.id);
    }
    return done;
  }

  /** Stores the decisions about the rows that stay. */
  async store(decisions: readonly RowDecision[]): Promise<void> {
    const { store, log } = this.parts;
    await store.postponeEach(
      decisions.flatMap((decision) => {
        if (!('delay' in decision)) return [];
        const { row, delay, problem = null } = decision;
        return [{ id: row.id, delay, problem }];
      }),
    );
    for (const { ids, destinations } of waitingGroups(decisions)) await store.wait(ids, destinations);
    for (const decision of decisions) {
      const { row, kind } = decision;
      if (kind === 'leave alone' && decision.isOfOtherApplication === true) {
        log.ofOtherApplication(store.table.name);
      }
      if (kind === 'wait' && decision.problem !== undefined) {
        log.ofUnknownTenant(store.table.name, row.id, decision.problem);
      }
      if (kind !== 'set aside') continue;
      await store.setAside([row.id], decision.problem);
      log.setAside(store.table.name, row.id, decision.problem);
    }
  }

  /**
   * Begins a deletion, which does more than reach destinations, and waits for none of them. It is begun when the row
   * is read for the first time, and again when its destinations are known, since a process may die in between. After
   * that, the row names the destinations that are left.
   */
  private async begun(decision: RowDecision): Promise<RowDecision> {
    if (decision.kind === 'set aside' || decision.kind === 'leave alone') return decision;
    const { deletions } = this.parts.client;
    const { row, deletion, tenant, isOfAllSources, isOfAllTenants, writtenAt, kind } = decision;
    if (row.destinations !== null || (kind === 'wait' && row.due !== NEVER_CLAIMED)) return decision;
    if (deletion === undefined) return decision;
    const where = { source: row.source, tenant, isOfAllSources, isOfAllTenants };
    const isStored = await within(STORING_PATIENCE, deletions.onTaken(deletion, where, writtenAt));
    if (isStored === true) return decision;
    // If this process closes, another process may take the row at once.
    return { kind: 'leave alone', row, delay: isStored === undefined ? BEGIN_AGAIN_AFTER : 0 };
  }
}
