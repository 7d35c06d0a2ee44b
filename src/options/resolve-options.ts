import type { ConnectionOptions } from 'bullmq';
import { InvalidOptionsError, type OptionProblem } from '../errors/invalid-options.error.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import type { AnalyticsModuleOptions } from './analytics-options.interface.js';
import { describe, isRecord, OptionReader } from './option-reader.js';
import { resolveAudiences } from './resolve-audiences.js';
import { isDefaultConnection, resolveConnection } from './resolve-connection.js';
import { resolveForwarding } from './resolve-forwarding.js';
import { resolveSources } from './resolve-sources.js';
import { resolveTracking } from './resolve-tracking.js';
import { resolveTrackingApi } from './resolve-tracking-api.js';
import { resolveWebhooks } from './resolve-webhooks.js';
import type { ResolvedOptions } from './resolved-options.js';

/** Longest timer that Node has. */
const MAX_TIME = 2 ** 31 - 1;

const KNOWN: readonly string[] = [
  'writeKey',
  'sources',
  'webhooks',
  'endpoint',
  'connection',
  'flushAt',
  'flushAfter',
  'maxBufferedBytes',
  'concurrency',
  'connections',
  'shutdownTimeout',
  'context',
  'beforeSend',
  'identity',
  'requestContext',
  'events',
  'onViolation',
  'audiences',
  'enabled',
] satisfies (keyof AnalyticsModuleOptions)[];

/** What decides beside the options themselves. */
export interface ResolutionContext {
  /** The extra `worker`: whether this process delivers, or only produces. */
  worker: boolean;
  /** The connection of the host application's `BullModule.forRoot`, when it has one. */
  hostConnection?: ConnectionOptions | undefined;
  /** The extra `trackingApi`: whether this process serves the HTTP tracking API, and where. @default false */
  trackingApi?: unknown;
  /** The extra `sourceNames`: the sources that are to be injected by their names. @default none */
  sourceNames?: readonly string[] | undefined;
}

/**
 * Fills in every default and checks every option. The only place that does either.
 *
 * @throws InvalidOptionsError which lists all that is wrong
 */
export function resolveOptions(
  given: unknown,
  { worker, hostConnection, trackingApi, sourceNames = [] }: ResolutionContext,
): ResolvedOptions {
  const problems: OptionProblem[] = [];
  const options = new OptionReader(isRecord(given) ? given : {}, '', problems);
  if (!isRecord(given)) options.report('options', 'an object', describe(given));
  options.onlyKnows(KNOWN);
  const sources = resolveSources(options);
  const resolved: ResolvedOptions = {
    sources,
    webhooks: resolveWebhooks(
      options,
      sources.map(({ name }) => name),
    ),
    forwarding: resolveForwarding(options),
    trackingApi: resolveTrackingApi(trackingApi, problems),
    connection: resolveConnection(options, hostConnection),
    connectionIsDefault: isDefaultConnection(options.get('connection'), hostConnection),
    worker,
    flushAt: options.number('flushAt', 20, { min: 1 }),
    flushAfter: options.number('flushAfter', 5_000, { min: 0, max: MAX_TIME }),
    maxBufferedBytes: options.number('maxBufferedBytes', 64 * 1024 * 1024, { min: 0 }),
    concurrency: options.number('concurrency', 16, { min: 1 }),
    connections: options.number('connections', 64, { min: 1 }),
    shutdownTimeout: options.number('shutdownTimeout', 10_000, { min: 0, max: MAX_TIME }),
    context: resolveContext(options),
    beforeSend: resolveBeforeSend(options),
    tracking: resolveTracking(options),
    audiences: resolveAudiences(
      options,
      sources.map(({ name }) => name),
    ),
    enabled: options.boolean('enabled', true),
  };
  if (resolved.connection.kind === 'embedded' && !worker) {
    options.report(
      'connection',
      'a `redis://` or `postgres://` URL beside `worker: false`: nobody else can deliver from the embedded queue',
      'the embedded queue',
    );
  }
  const unknown = sourceNames.find((name) => !sources.some((source) => source.name === name));
  if (unknown !== undefined) {
    options.report(
      'sourceNames',
      `names of sources (${sources.map(({ name }) => name).join(', ')})`,
      describe(unknown),
    );
  }
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return resolved;
}

function resolveContext(options: OptionReader): JsonObject {
  const context = options.get('context');
  if (context === undefined) return {};
  if (isRecord(context)) return { ...context };
  options.report('context', 'an object', describe(context));
  return {};
}

function resolveBeforeSend(options: OptionReader): ResolvedOptions['beforeSend'] {
  const beforeSend = options.get('beforeSend');
  if (beforeSend === undefined || isBeforeSend(beforeSend)) return beforeSend;
  options.report('beforeSend', 'a function', describe(beforeSend));
  return undefined;
}

function isBeforeSend(value: unknown): value is (message: AnalyticsMessage) => AnalyticsMessage | null {
  return typeof value === 'function';
}
