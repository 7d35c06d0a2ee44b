import type * as Api from '@opentelemetry/api';
import type { Meter, Tracer } from '@opentelemetry/api';
import { isPackageMissing } from '../errors/setup.errors.js';

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
