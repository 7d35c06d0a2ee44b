import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type DestinationBacklog, emptyBacklog } from '../../src/queue/destination-backlog.js';
import { TenantBacklogs } from '../../src/queue/tenant-backlogs.js';

describe('the backlog of a tenant', () => {
  let tenants: TenantBacklogs;

  beforeEach(() => {
    jest.useFakeTimers();
    tenants = new TenantBacklogs();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function waiting(tenant: string, destinations: number, messages: number): DestinationBacklog[] {
    return Array.from({ length: destinations }, (_, n) => {
      const backlog = emptyBacklog(`${tenant}-${messages}-${n}`, 1_000_000);
      backlog.total = messages;
      tenants.add(tenant, backlog);
      return backlog;
    });
  }

  it('counts as large if few messages wait for each of many destinations, until there are fewer', () => {
    const [first, ...others] = waiting('acme', 50, 100);
    const [ofOthers] = waiting('globex', 1, 0);
    if (first === undefined || ofOthers === undefined) throw new Error('unreachable');
    expect(tenants.hasManyWaiting(first)).toBe(true);
    expect(tenants.hasManyWaiting(ofOthers)).toBe(false);
    for (const backlog of others) tenants.remove(backlog);
    jest.advanceTimersByTime(50);
    expect(tenants.hasManyWaiting(first)).toBe(false);
  });

  it('does not count as large for other destinations if all of it waits for one destination', () => {
    waiting('acme', 1, 20_000);
    const [other] = waiting('acme', 1, 0);
    if (other === undefined) throw new Error('unreachable');
    expect(tenants.hasManyWaiting(other)).toBe(false);
  });
});
