import type { JSX } from 'preact';
import type { HourStats } from '../../deliveries/history/history.types.js';
import { Problem } from './parts.js';
import { TimeChart } from './time-chart.js';
import type { Loaded } from './use-loaded.js';

/** What happened at a destination in each hour of the last seven days. */
export function StatsChart({
  stats: { value, error },
}: {
  stats: Loaded<{ hours: HourStats[] }>;
}): JSX.Element {
  const periods = value?.hours.map((stats) => ({ ...stats, at: stats.hour }));
  return (
    <section>
      <h2>The last seven days</h2>
      <Problem error={error} />
      {/* Without stats there is no chart: an empty chart would say that nothing happened. */}
      {periods !== undefined && <TimeChart name="the last seven days" unit="hour" periods={periods} />}
    </section>
  );
}
