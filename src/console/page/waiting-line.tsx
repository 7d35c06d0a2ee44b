import type { JSX } from 'preact';
import { type ChartPeriod, type PeriodUnit, WIDTH } from './chart-period.js';
import { numberText } from './number-text.js';

const HEIGHT = 40;
/** Space above the highest point and below the lowest, so that the line is not cut. */
const MARGIN = 2;

interface WaitingLineProps {
  unit: PeriodUnit;
  periods: readonly ChartPeriod[];
}

/** A line of steps that shows how many messages waited, with a gap where the number is not known. */
export function WaitingLine({ unit, periods }: WaitingLineProps): JSX.Element {
  const highest = highestWaiting(periods);
  const last = periods.at(-1)?.waiting;
  const text =
    highest === undefined
      ? 'not known yet'
      : `at most ${numberText(highest)}${last === undefined ? '' : `, ${numberText(last)} in the latest ${unit}`}`;
  return (
    <svg
      class="line"
      role="img"
      aria-label={`Waiting messages in each ${unit}: ${text}`}
      viewBox={`0 0 ${Math.max(periods.length, 1) * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <path
        class="backlog"
        d={steps(periods, Math.max(highest ?? 0, 1))}
        vector-effect="non-scaling-stroke"
      />
    </svg>
  );
}

/** Returns the highest number of messages that waited, or `undefined` if no number is known. */
export function highestWaiting(periods: readonly ChartPeriod[]): number | undefined {
  const known = periods.flatMap(({ waiting }) => waiting ?? []);
  return known.length === 0 ? undefined : Math.max(...known);
}

function steps(periods: readonly ChartPeriod[], highest: number): string {
  let isDrawn = false;
  return periods
    .map(({ waiting }, index) => {
      const wasDrawn = isDrawn;
      isDrawn = waiting !== undefined;
      if (waiting === undefined) return '';
      const y = HEIGHT - MARGIN - (waiting / highest) * (HEIGHT - 2 * MARGIN);
      return `${wasDrawn ? `V${y}` : `M${index * WIDTH} ${y}`}H${(index + 1) * WIDTH}`;
    })
    .join('');
}
