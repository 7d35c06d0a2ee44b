import type * as Api from '@opentelemetry/api';
import type { Meter, Tracer } from '@opentelemetry/api';
import { isPackageMissing } from '../errors/setup.errors.js';
import { thrownAt } from '../shared/thrown-at.js';

const PACKAGE = '@opentelemetry/api';
/** Name of the meter and of the tracer. */
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

/** Loads OpenTelemetry's API. Resolves to `undefined` if the application does not have it or has registered no SDK. */
export async function loadOpenTelemetry(): Promise<OpenTelemetry | undefined> {
  let api: OpenTelemetryApi;
  try {
    api = await import('@opentelemetry/api');
  } catch (error) {
    if (isPackageMissing(error, PACKAGE)) return undefined;
    throw error;
  }
  // Bundlers can replace a missing package with an empty module.
  if (!('metrics' in api)) return undefined;
  const meter = api.metrics.getMeter(SCOPE);
  const tracer = api.trace.getTracer(SCOPE);
  const isMeasured = meter !== api.createNoopMeter();
  const isTraced = !(tracer instanceof api.ProxyTracer);
  if (!isMeasured && !isTraced) return undefined;
  return { api, meter: isMeasured ? meter : undefined, tracer: isTraced ? tracer : undefined };
}

/**
 * Returns a function that logs what the application's own samplers, processors and views throw. Their errors must reach
 * neither a call nor a request. Logs one line per place, not one per request.
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

/** Returns a function that logs, once, that requests have no span because there are too many; never if `limit` is 0. */
export function tellLeftOut(logger: { warn(message: string): void }, limit: number): () => void {
  let isTold = limit === 0;
  return () => {
    if (isTold) return;
    isTold = true;
    logger.warn(
      `More requests needed a span than \`tracing.spansPerSecond\` (${limit}) allows; one destination or tenant gets at ` +
        'most half of these spans. The other requests have none; the metric nestjs_analytics.delivery.untraced counts them.',
    );
  };
}
