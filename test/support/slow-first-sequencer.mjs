import TestSequencer from '@jest/test-sequencer';

/** What takes longest. One of them that began last would run alone at the end. */
const SLOW = [
  'queue/silent-connections',
  'e2e/crash',
  'stored-destinations/own-store',
  'delivery/rate-limits',
  'deliveries/history/history',
  'console/live',
  'e2e/sample-app',
  'e2e/processes',
  'console/changes',
  'outbox/outbox-crash',
  'delivery/sender-away',
  'ingest/http/queue-outage',
];

/** Runs the slowest specs first, also where no earlier run has told which they are. */
export default class SlowFirstSequencer extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = SLOW.findIndex((spec) => path.endsWith(`/${spec}.spec.ts`));
      return index === -1 ? SLOW.length : index;
    };
    return [...super.sort(tests)].sort((one, other) => rank(one) - rank(other));
  }
}
