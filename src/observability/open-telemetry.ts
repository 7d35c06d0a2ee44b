import type * as Api from '@opentelemetry/api';
import type { Meter, Tracer } from '@opentelemetry/api';
import { isPackageMissing } from '../errors/setup.errors.js';
import { thrownAt } from '../shared/thrown-at.js';

const PACKAGE = '@opentelemetry/api';
/** The name that meters and tracers are asked for by. */
const SCOPE = 'nestjs-analytics';

export type OpenTelemetryApi = typeof Api;

/** OpenTelemetry, as far as the application has registered an SDK. */
export interface OpenTelemetry {
  api: OpenTelemetryApi;
  /** `undefined` without an SDK for metrics. */
  meter: Meter | undefined;
  /** `undefined` without an SDK for traces. */
  tracer: Tracer | undefined;
}

/** Loads OpenTelemetry's API; `undefined` if the application does not have it, or has registered no SDK. */
export async function loadOpenTelemetry(): Promise<OpenTelemetry | undefined> {
  let api: OpenTelemetryApi;
  try {
    api = await import('@opentelemetry/api');
  } catch (error) {
    if (isPackageMissing(error, PACKAGE)) return undefined;
    throw error;
  }
  // Bundlers can put an empty module in the place of a package that is not there.
  if (!('metrics' in api)) return undefined;
  const meter = api.metrics.getMeter(SCOPE);
  const tracer = api.trace.getTracer(SCOPE);
  const isMeasured = meter !== api.createNoopMeter();
  const isTraced = !(tracer instanceof api.ProxyTracer);
  if (!isMeasured && !isTraced) return undefined;
  return { api, meter: isMeasured ? meter : undefined, tracer: isTraced ? tracer : undefined };
}

/**
 * Tells what the application's own samplers, processors and views throw, which must reach neither a call nor a request:
 * one line per place, not one per request.
 */
export function tellThrown(logger: { error(message: string): void }): (error: unknown) => void {
  const told = new Set<string>();
  return (error) => {
    const thrown = thrownAt(error);
    if (told.has(thrown)) return;
    told.add(thrown);
    logger.error(
      `OpenTelemetry threw ${thrown}. Delivery continues; fix the sampler, span processor or view of the application.`,
    );
  };
}

/** Tells, once, that requests have no span because there are too many. */
export function tellLeftOut(logger: { warn(message: string): void }, limit: number): () => void {
  let isTold = limit === 0;
  return () => {
    if (isTold) return;
    isTold = true;
    logger.warn(
      `More requests than \`tracing.spansPerSecond\` (${limit}) were to have a span, and one destination or tenant has ` +
        'half of them at most. The rest have none; the metric nestjs_analytics.delivery.untraced counts them.',
    );
  };
}
