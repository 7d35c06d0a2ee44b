import { type ComponentChildren, Fragment, type JSX } from 'preact';
import {
  areEmpty,
  type ChartPeriod,
  type Counts,
  KINDS,
  type PeriodUnit,
  sumOf,
  WIDTH,
} from './chart-period.js';
import { numberText } from './number-text.js';
import { Details } from './parts.js';
import { highestWaiting, WaitingLine } from './waiting-line.js';

const HEIGHT = 120;

interface TimeChartProps {
  /** The time that the chart covers, such as `the last hour`. */
  name: string;
  unit: PeriodUnit;
  periods: readonly ChartPeriod[];
  /** Whether the chart also shows how many messages waited. */
  hasWaiting?: boolean;
  /** Shown in the chart if nothing happened. */
  empty?: ComponentChildren;
}

/** A bar for each period. Below, a line with a scale of its own shows how many messages waited. */
export function TimeChart({ name, unit, periods, hasWaiting = false, empty }: TimeChartProps): JSX.Element {
  const sums = KINDS.map((kind) => ({ kind, text: `${numberText(sumOf(periods, kind))} ${kind}` }));
  const highest = highestWaiting(periods);
  return (
    <>
      <p>
        {sums.map(({ kind, text }) => (
          <Fragment key={kind}>
            <span class={`legend ${kind}`}>{text}</span>{' '}
          </Fragment>
        ))}
        {hasWaiting && (
          <span class="legend backlog">
            {highest === undefined ? 'waiting: not known yet' : `at most ${numberText(highest)} waiting`}
          </span>
        )}
      </p>
      <div class="chart">
        <svg
          role="img"
          aria-label={`A bar for each ${unit}, in total: ${sums.map(({ text }) => text).join(', ')}`}
          viewBox={`0 0 ${Math.max(periods.length, 1) * WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          {bars(periods)}
        </svg>
        {empty !== undefined && areEmpty(periods) && (
          <p class="empty">
            <span>{empty}</span>
          </p>
        )}
      </div>
      {hasWaiting && <WaitingLine unit={unit} periods={periods} />}
      <Axis unit={unit} periods={periods} />
      <Details summary={`Figures for ${name}`}>
        {() => <Figures unit={unit} periods={periods} hasWaiting={hasWaiting} />}
      </Details>
    </>
  );
}

type PartProps = Pick<TimeChartProps, 'unit' | 'periods'>;

/** The axis of the bars: their time, and the value of the highest bar. */
function Axis({ unit, periods }: PartProps): JSX.Element {
  const [first] = periods;
  return (
    <p class="axis">
      <small>{first !== undefined && startOf(first, unit)}</small>
      <small>
        {numberText(highestOf(periods))} in the busiest {unit}
      </small>
      <small>now</small>
    </p>
  );
}

/** The values of the chart as a table, the latest first. */
function Figures({ unit, periods, hasWaiting = false }: PartProps & { hasWaiting?: boolean }): JSX.Element {
  return (
    <table class="figures">
      <thead>
        <tr>
          {[unit, ...KINDS, ...(hasWaiting ? ['waiting'] : [])].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...periods].reverse().map((period) => (
          <tr key={period.at}>
            <th scope="row">{timeOf(period, unit)}</th>
            {KINDS.map((kind) => (
              <td key={kind}>{numberText(period[kind])}</td>
            ))}
            {hasWaiting && <td>{period.waiting === undefined ? '–' : numberText(period.waiting)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function startOf({ at }: ChartPeriod, unit: PeriodUnit): string {
  const date = new Date(at);
  return unit === 'hour' ? date.toLocaleDateString() : date.toLocaleTimeString([], { timeStyle: 'short' });
}

function timeOf({ at }: ChartPeriod, unit: PeriodUnit): string {
  const time = { hour: 'numeric', minute: '2-digit' } as const;
  const day = unit === 'hour' ? ({ month: 'short', day: 'numeric' } as const) : {};
  return new Date(at).toLocaleString([], { ...day, ...time });
}

function highestOf(periods: readonly Counts[]): number {
  return Math.max(0, ...periods.map(({ delivered, retried, failed }) => delivered + retried + failed));
}

function bars(periods: readonly ChartPeriod[]): JSX.Element[] {
  const highest = Math.max(1, highestOf(periods));
  return periods.flatMap((period, index) => {
    let top = HEIGHT;
    return KINDS.filter((kind) => period[kind] > 0).map((kind) => {
      const height = (period[kind] / highest) * HEIGHT;
      top -= height;
      return (
        <rect
          key={`${period.at} ${kind}`}
          class={kind}
          x={index * WIDTH}
          y={top}
          width={WIDTH - 1}
          height={height}
        >
          <title>{`${new Date(period.at).toLocaleString()}: ${numberText(period[kind])} ${kind}`}</title>
        </rect>
      );
    });
  });
}
