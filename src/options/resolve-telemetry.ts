import { describe, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedMetrics, ResolvedTracing } from './resolved-options.js';
import type { MetricsOptions, TracingOptions } from './telemetry-options.interface.js';

const METRICS: readonly string[] = ['eachDestination', 'tenants'] satisfies (keyof MetricsOptions)[];
const TRACING: readonly string[] = ['propagate', 'spansPerSecond'] satisfies (keyof TracingOptions)[];
/** For comparison: a span processor of the SDK queues 2,048 spans, and exports them in batches of 512. */
const DEFAULT_SPANS_PER_SECOND = 1_000;

/** Reads `metrics`. */
export function resolveMetrics(options: OptionReader): ResolvedMetrics {
  const metrics = readerOf(options, 'metrics', '`{ eachDestination, tenants }`');
  metrics.onlyKnows(METRICS);
  return {
    eachDestination: metrics.boolean('eachDestination', false),
    tenants: metrics.boolean('tenants', false),
  };
}

/** Reads `tracing`. */
export function resolveTracing(options: OptionReader): ResolvedTracing {
  const tracing = readerOf(options, 'tracing', '`{ propagate, spansPerSecond }`');
  tracing.onlyKnows(TRACING);
  return {
    propagate: tracing.boolean('propagate', false),
    spansPerSecond: tracing.number('spansPerSecond', DEFAULT_SPANS_PER_SECOND, { min: 0 }),
  };
}

function readerOf(options: OptionReader, name: string, expected: string): OptionReader {
  const given = options.get(name);
  if (given !== undefined && !isRecord(given)) options.report(name, expected, describe(given));
  return new OptionReader(isRecord(given) ? given : {}, name, options.problems);
}
