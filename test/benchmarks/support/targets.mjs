import { report, show, spread } from './report.mjs';

/** Compares what was measured with a target, which is met if the median of the runs meets it. */
export function target(what, values, bound, digits = 2) {
  const { median } = spread(values);
  const [word, limit] = Object.entries(bound)[0];
  const met = word === 'most' ? median <= limit : median >= limit;
  return {
    target: what,
    wanted: `at ${word} ${limit}`,
    measured: show(values, digits),
    met: met ? 'yes' : 'NO',
  };
}

export function reportTargets(rows) {
  report('Targets', rows);
}
