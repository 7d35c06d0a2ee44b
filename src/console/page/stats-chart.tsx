import type { JSX } from 'preact';
import type { HourStats } from '../../deliveries/history/history.types.js';
import { Problem } from './parts.js';
import type { Loaded } from './use-loaded.js';

const HEIGHT = 120;
const WIDTH = 4;
const KINDS = ['delivered', 'retried', 'failed'] as const;
type Kind = (typeof KINDS)[number];

/** What happened at a destination in each hour of the last seven days. */
export function StatsChart({
  stats: { value, error },
}: {
  stats: Loaded<{ hours: HourStats[] }>;
}): JSX.Element {
  return (
    <section>
      <h2>The last seven days</h2>
      <Problem error={error} />
      <HoursChart hours={value?.hours ?? []} />
    </section>
  );
}

/** A bar for each hour. */
export function HoursChart({ hours }: { hours: readonly HourStats[] }): JSX.Element {
  const sum = (kind: Kind): number => sumOf(hours, kind);
  return (
    <>
      <p>
        {KINDS.map((kind) => (
          <span key={kind} class={`legend ${kind}`}>
            {sum(kind)} {kind}{' '}
          </span>
        ))}
      </p>
      <svg
        role="img"
        aria-label={KINDS.map((kind) => `${sum(kind)} ${kind}`).join(', ')}
        viewBox={`0 0 ${Math.max(hours.length, 1) * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {bars(hours)}
      </svg>
      <Axis hours={hours} />
    </>
  );
}

/** What the bars stand for: their time, and the highest of them. */
function Axis({ hours }: { hours: readonly HourStats[] }): JSX.Element {
  const [first] = hours;
  return (
    <p class="axis">
      <small>{first !== undefined && new Date(first.hour).toLocaleDateString()}</small>
      <small>{highestOf(hours)} in the busiest hour</small>
      <small>now</small>
    </p>
  );
}

/** How often something happened in all of these hours. */
export function sumOf(hours: readonly HourStats[], kind: Kind): number {
  return hours.reduce((sum, hour) => sum + hour[kind], 0);
}

function highestOf(hours: readonly HourStats[]): number {
  return Math.max(0, ...hours.map(({ delivered, retried, failed }) => delivered + retried + failed));
}

function bars(hours: readonly HourStats[]): JSX.Element[] {
  const highest = Math.max(1, highestOf(hours));
  return hours.flatMap((stats, index) => {
    let top = HEIGHT;
    return KINDS.filter((kind) => stats[kind] > 0).map((kind) => {
      const height = (stats[kind] / highest) * HEIGHT;
      top -= height;
      const title = `${new Date(stats.hour).toLocaleString()}: ${stats[kind]} ${kind}`;
      return (
        <rect
          key={`${stats.hour} ${kind}`}
          class={kind}
          x={index * WIDTH}
          y={top}
          width={WIDTH - 1}
          height={height}
        >
          <title>{title}</title>
        </rect>
      );
    });
  });
}
