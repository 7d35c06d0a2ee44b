import type { ComponentChildren, JSX } from 'preact';
import type { Overview } from '../console-reports.js';
import { areEmpty } from './chart-period.js';
import { NoHistory } from './no-history.js';
import { TimeChart } from './time-chart.js';

/** Charts of what happened, and what waited, in the last hour and in the last seven days. */
export function OverviewCharts({
  stored: { minutes, hours },
  waiting,
}: {
  stored: NonNullable<Overview['stored']>;
  /** Number of messages that wait now. */
  waiting: number;
}): JSX.Element {
  if (hours === undefined) return <NoHistory isOperator />;
  return (
    <>
      {/* During an update, a process of the previous version may answer, which reports no minutes. */}
      {minutes !== undefined && (
        <section>
          <h2>The last hour</h2>
          <TimeChart
            name="the last hour"
            unit="minute"
            periods={minutes.map((totals) => ({ ...totals, at: totals.minute }))}
            hasWaiting
            empty={<WhatToDo isFirst={areEmpty(hours)} waiting={waiting} />}
          />
        </section>
      )}
      <section>
        <h2>The last seven days</h2>
        <TimeChart
          name="the last seven days"
          unit="hour"
          periods={hours.map((totals) => ({ ...totals, at: totals.hour }))}
          hasWaiting
        />
      </section>
    </>
  );
}

/** Shown if nothing happened in the last hour. */
function WhatToDo({ isFirst, waiting }: { isFirst: boolean; waiting: number }): ComponentChildren {
  if (waiting > 0) {
    return 'Nothing was delivered in the last hour, although messages wait. Check whether a worker is running, and whether a URL is down.';
  }
  if (!isFirst) return 'Nothing was delivered in the last hour, and no messages wait.';
  return (
    <>
      Nothing has been delivered yet. <a href="#/new">Add a destination</a> and call{' '}
      <code>analytics.track()</code>: the result appears here about two seconds later.
    </>
  );
}
