import type { Provider } from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { AnalyticsClient } from '../client/analytics-client.js';
import { CALL_HOOKS, type CallHooks } from '../client/call-hooks.js';
import { UserEraser } from '../deliveries/user-eraser.js';
import type { HttpHandler } from '../http/http-handler.js';
import { mountHandler } from '../http/mount-handler.js';
import { LiveEvents } from '../live/live-events.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { CallRecorder } from './decorators/call-recorder.js';
import { identityOver } from './decorators/default-identity.js';
import { DecoratorOptionsCheck } from './decorators/decorator-options-check.js';
import { DecoratorLog } from './decorators/decorator-log.js';
import { DECORATOR_RUNTIME, type DecoratorRuntime } from './decorators/decorator-runtime.js';
import { RequestContextInterceptor } from './decorators/request-context.interceptor.js';
import { EventSchemaChecker } from './schemas/event-schema-checker.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

function createHooks(options: ResolvedOptions, runtime: DecoratorRuntime, eraser: UserEraser): CallHooks {
  const checker = new EventSchemaChecker(options.ingest, new AnalyticsLogger());
  return {
    callContext: () => runtime.contextFields,
    refusal: checker.refusal,
    onDeletion: (deletion, at) => eraser.add(deletion, at),
  };
}

function createRecorder(
  runtime: DecoratorRuntime,
  client: AnalyticsClient,
  { ingest, sources }: ResolvedOptions,
  live: LiveEvents | undefined,
): CallRecorder {
  const log = new DecoratorLog(new AnalyticsLogger(), live);
  const identityOf = identityOver(ingest.identity);
  // A misspelt option is a mistake in the code, so it shows up during development.
  const check = process.env.NODE_ENV === 'production' ? undefined : new DecoratorOptionsCheck(log);
  const recorder = new CallRecorder(client, { sources: sourceNames(sources), identityOf }, log, check);
  runtime.open(recorder, ingest.requestContext);
  return recorder;
}

// An application without a tracking API does not load the code for it.
async function createHandler(
  { sources, trackingApi, shutdownTimeout }: ResolvedOptions,
  client: AnalyticsClient,
): Promise<HttpHandler | undefined> {
  if (trackingApi === undefined) return undefined;
  const { createTrackingApi } = await import('./http/tracking-api.handler.js');
  return createTrackingApi(trackingApi, sources, client, shutdownTimeout);
}

const TRACKING_API = Symbol('nestjs-analytics:tracking-api');
const TRACKING_API_MOUNT = Symbol('nestjs-analytics:tracking-api-mount');

/** The inputs besides the service itself: decorators, and the HTTP tracking API. */
export const INGEST_PROVIDERS: Provider[] = [
  { provide: CALL_HOOKS, inject: [RESOLVED_OPTIONS, DECORATOR_RUNTIME, UserEraser], useFactory: createHooks },
  {
    provide: CallRecorder,
    inject: [DECORATOR_RUNTIME, AnalyticsClient, RESOLVED_OPTIONS, LiveEvents],
    useFactory: createRecorder,
  },
  {
    provide: APP_INTERCEPTOR,
    inject: [DECORATOR_RUNTIME, RESOLVED_OPTIONS],
    // Nest leaves out an interceptor that is `undefined`, so that other requests pay nothing for it.
    useFactory: (runtime: DecoratorRuntime, { ingest }: ResolvedOptions) =>
      ingest.requestContext === 'all' ? new RequestContextInterceptor(runtime) : undefined,
  },
  { provide: TRACKING_API, inject: [RESOLVED_OPTIONS, AnalyticsClient], useFactory: createHandler },
  { provide: TRACKING_API_MOUNT, inject: [HttpAdapterHost, TRACKING_API], useFactory: mountHandler },
];
