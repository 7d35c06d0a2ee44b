import { Logger, type Provider } from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { AnalyticsClient } from '../client/analytics-client.js';
import { CALL_HOOKS, type CallHooks } from '../client/call-hooks.js';
import { UserEraser } from '../deliveries/user-eraser.js';
import { HttpMount } from '../http/http-mount.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { CallRecorder } from './decorators/call-recorder.js';
import { identityOver } from './decorators/default-identity.js';
import { DecoratorLog } from './decorators/decorator-log.js';
import { DECORATOR_RUNTIME, DecoratorRuntime } from './decorators/decorator-runtime.js';
import { RequestContextInterceptor } from './decorators/request-context.interceptor.js';
import { Intake } from './http/intake.js';
import { RateLimiter } from './http/rate-limiter.js';
import { TrackingApiHandler } from './http/tracking-api.handler.js';
import { TrackingApi } from './http/tracking-api.js';
import { UnknownKeyLog } from './http/unknown-key-log.js';
import { WriteKeys } from './http/write-keys.js';
import { EventSchemaChecker } from './schemas/event-schema-checker.js';

function createHooks(options: ResolvedOptions, runtime: DecoratorRuntime, eraser: UserEraser): CallHooks {
  const checker = new EventSchemaChecker(options.ingest, new Logger('Analytics'));
  return {
    callContext: () => runtime.contextFields,
    refusal: checker.refusal,
    onDeletion: (userId, source) => {
      eraser.add(userId, source);
    },
  };
}

function createRecorder(
  runtime: DecoratorRuntime,
  client: AnalyticsClient,
  { ingest, sources }: ResolvedOptions,
): CallRecorder {
  const log = new DecoratorLog(new Logger('Analytics'));
  const identityOf = identityOver(ingest.identity);
  const recorder = new CallRecorder(client, { sources: sourceNames(sources), identityOf }, log);
  runtime.open(recorder, ingest.requestContext);
  return recorder;
}

function createTrackingApi(
  { sources, trackingApi }: ResolvedOptions,
  client: AnalyticsClient,
): TrackingApiHandler | undefined {
  if (trackingApi === undefined) return undefined;
  const logger = new Logger('Analytics');
  const api = new TrackingApi({
    intake: new Intake(client),
    keys: new WriteKeys(sources),
    limiter: new RateLimiter(trackingApi.rateLimit),
    unknownKeys: new UnknownKeyLog(logger),
  });
  return new TrackingApiHandler(api, trackingApi.path, logger);
}

const TRACKING_API_MOUNT = Symbol('nestjs-analytics:tracking-api-mount');

/** The inputs beside the service itself: decorators, and the HTTP tracking API. */
export const INGEST_PROVIDERS: Provider[] = [
  { provide: DECORATOR_RUNTIME, useFactory: () => new DecoratorRuntime() },
  { provide: CALL_HOOKS, inject: [RESOLVED_OPTIONS, DECORATOR_RUNTIME, UserEraser], useFactory: createHooks },
  {
    provide: CallRecorder,
    inject: [DECORATOR_RUNTIME, AnalyticsClient, RESOLVED_OPTIONS],
    useFactory: createRecorder,
  },
  {
    provide: APP_INTERCEPTOR,
    inject: [DECORATOR_RUNTIME, RESOLVED_OPTIONS],
    // Nest leaves out an interceptor that is `undefined`, so that other requests pay nothing for it.
    useFactory: (runtime: DecoratorRuntime, { ingest }: ResolvedOptions) =>
      ingest.requestContext === 'all' ? new RequestContextInterceptor(runtime) : undefined,
  },
  {
    provide: TrackingApiHandler,
    inject: [RESOLVED_OPTIONS, AnalyticsClient],
    useFactory: createTrackingApi,
  },
  {
    provide: TRACKING_API_MOUNT,
    inject: [HttpAdapterHost, TrackingApiHandler],
    useFactory: (host: HttpAdapterHost, handler: TrackingApiHandler | undefined) =>
      handler === undefined ? undefined : new HttpMount(host, handler, new Logger('Analytics')),
  },
];
