/** Of one period, in the units of a chart. */
export const WIDTH = 4;
export const KINDS = ['delivered', 'retried', 'failed'] as const;
type Kind = (typeof KINDS)[number];
export type Counts = Readonly<Record<Kind, number>>;

/** How long the periods of a chart are. */
export type PeriodUnit = 'minute' | 'hour';

/** What happened in a minute or an hour. */
export interface ChartPeriod extends Counts {
  /** When it began, in milliseconds since the epoch. */
  at: number;
  /** The most messages that waited; `undefined` where that is not known. */
  waiting?: number | undefined;
}

/** How often something happened in all of these periods. */
export function sumOf(periods: readonly Counts[], kind: Kind): number {
  return periods.reduce((sum, period) => sum + period[kind], 0);
}

/** Whether nothing happened in any of these periods. */
export function areEmpty(periods: readonly Counts[]): boolean {
  return KINDS.every((kind) => sumOf(periods, kind) === 0);
}
