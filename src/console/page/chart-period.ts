/** Width of one period, in the units of a chart. */
export const WIDTH = 4;
export const KINDS = ['delivered', 'retried', 'failed'] as const;
type Kind = (typeof KINDS)[number];
export type Counts = Readonly<Record<Kind, number>>;

/** Length of each period of a chart. */
export type PeriodUnit = 'minute' | 'hour';

/** What happened in a minute or an hour. */
export interface ChartPeriod extends Counts {
  /** Start of the period, in milliseconds since the epoch. */
  at: number;
  /** Highest number of messages that waited; `undefined` if it is not known. */
  waiting?: number | undefined;
}

/** Returns the sum of one kind over all periods. */
export function sumOf(periods: readonly Counts[], kind: Kind): number {
  return periods.reduce((sum, period) => sum + period[kind], 0);
}

/** Whether nothing happened in any of these periods. */
export function areEmpty(periods: readonly Counts[]): boolean {
  return KINDS.every((kind) => sumOf(periods, kind) === 0);
}
