import TestSequencer from '@jest/test-sequencer';

/** The specs that take longest. If one of them began last, it would run alone at the end. */
const SLOW = [
  'stored-destinations/own-store',
  'queue/failed-retention',
  'e2e/processes',
  'e2e/sample-app',
  'delivery/rate-limits',
  'e2e/crash',
  'queue/silent-connections',
  'stored-destinations/tenants',
  'console/live',
  'deliveries/history/history',
  'console/failed-renewals',
  'delivery/refused-urls',
  'console/changes',
  'destinations-api/destinations-api',
  'queue/postgres/postgres-faults',
  'outbox/outbox-crash',
  'delivery/sender-away',
  'ingest/http/queue-outage',
  'queue/memory-of-jobs',
  'queue/embedded/power-cut',
  'e2e/outage',
  'delivery/hanging-receiver',
  'delivery/long-lines',
  'delivery/fair-shares',
  'audiences/event-loop',
  'audiences/audiences-module',
  'testing/docs',
  'e2e/docs-types',
  'receivers/readme-samples',
  'ingest/http/browser',
  'console/accessibility',
  'queue/failed-limit',
  'queue/without-add-on',
  'client/flush-memory',
  'e2e/two-formats',
  'stored-destinations/tenant-fairness',
  'ingest/http/tracking-api-fuzz',
];
/** Other specs that begin between two of these. The slow specs mostly wait, and the others use that time. */
const BETWEEN = 4;

/** Spreads the slowest specs over the first part of a run, even if no earlier run has shown which they are. */
export default class SlowEarlySequencer extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const slow = SLOW.flatMap((spec) => sorted.filter(({ path }) => path.endsWith(`/${spec}.spec.ts`)));
    const others = sorted.filter((test) => !slow.includes(test));
    const spread = slow.flatMap((test) => [test, ...others.splice(0, BETWEEN)]);
    return [...spread, ...others];
  }
}
