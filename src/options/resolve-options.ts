import type { ConnectionOptions } from 'bullmq';
import type { OptionProblem } from '../errors/option-problem.js';
import { InvalidOptionsError } from '../errors/setup.errors.js';
import { groupOf } from '../messages/context-group.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import { isJsonObject } from '../messages/value-kind.js';
import { LONGEST_TIMER } from '../shared/clock.js';
import { limitedByHeap } from '../shared/share-of-heap.js';
import type { AnalyticsModuleOptions } from './analytics-options.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import { resolveAudiences } from './resolve-audiences.js';
import { isDefaultConnection, resolveConnection, resolvePartitions } from './resolve-connection.js';
import { checkConsolePath, resolveConsole, withConsoleApi } from './resolve-console.js';
import { resolveCustomDestinations } from './resolve-custom-destinations.js';
import { resolveDestinations } from './resolve-destinations.js';
import { checkApiPath } from './resolve-destinations-api.js';
import { resolveForwarding } from './resolve-forwarding.js';
import { resolveOutbox } from './resolve-outbox.js';
import { resolvePrefix } from './resolve-prefix.js';
import { resolveSources } from './resolve-sources.js';
import { resolveIngest, resolveTrackingApi } from './resolve-ingest.js';
import { resolveMetrics, resolveTracing } from './resolve-telemetry.js';
import { resolveWebhooks } from './resolve-webhooks.js';
import { hasCustomDestinations, type ResolvedOptions } from './resolved-options.js';

/** Default, in bytes of messages. The heap may need three times as much: two bytes per character, and the objects. */
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

const KNOWN: readonly string[] = [
  'writeKey',
  'sources',
  'webhooks',
  'destinations',
  'customDestinations',
  'console',
  'endpoint',
  'connection',
  'prefix',
  'partitions',
  'flushAt',
  'flushAfter',
  'maxBufferedBytes',
  'concurrency',
  'connections',
  'shutdownTimeout',
  'unknownJobTimeout',
  'context',
  'beforeSend',
  'identity',
  'requestContext',
  'events',
  'onViolation',
  'audiences',
  'outbox',
  'history',
  'metrics',
  'tracing',
  'enabled',
] satisfies (keyof AnalyticsModuleOptions)[];

/** The extras that shape the module graph, as given: untyped code may pass anything. */
export interface ModuleExtras {
  /** Whether the module's services can be injected without an import. @default true */
  isGlobal?: unknown;
  /** Whether this process delivers, or only adds to the queue. @default true */
  worker?: unknown;
  /** Whether this process serves the HTTP tracking API, and where. @default false */
  trackingApi?: unknown;
  /** Names of the sources that can be injected. @default none */
  sourceNames?: unknown;
}

const EXTRAS = ['isGlobal', 'worker', 'trackingApi', 'sourceNames'] satisfies (keyof ModuleExtras)[];

const EXTRAS_ELSEWHERE = {
  kind: 'extras',
  names: EXTRAS,
  expected: 'this extra beside `useFactory`, not in what it returns',
  given: 'the extra among the options',
};
const OPTIONS_ELSEWHERE = {
  kind: 'options',
  names: KNOWN,
  expected: 'this option in what `useFactory` returns, not beside it',
  given: 'the option among the extras',
};

/** Inputs in addition to the options themselves. */
export interface ResolutionContext extends ModuleExtras {
  /** The connection of the host application's `BullModule.forRoot`, if it has one. */
  hostConnection?: ConnectionOptions | undefined;
  /** The `prefix` of that `BullModule`. */
  hostPrefix?: string | undefined;
  /** Whether messages are only recorded, as in a test. @default false */
  isRecorded?: boolean;
}

/**
 * Fills in every default and checks every option and extra. No other code does either.
 *
 * @throws InvalidOptionsError which lists everything that is wrong
 */
export function resolveOptions(
  given: unknown,
  { hostConnection, hostPrefix, isRecorded = false, ...givenExtras }: ResolutionContext,
): ResolvedOptions {
  const problems: OptionProblem[] = [];
  const options = new OptionReader(isRecord(given) ? given : {}, '', problems);
  const extras = new OptionReader({ ...givenExtras }, '', problems);
  if (!isRecord(given)) options.report('options', 'an object', describeType(given));
  options.onlyKnows(KNOWN, { elsewhere: EXTRAS_ELSEWHERE });
  extras.onlyKnows(EXTRAS, { kind: 'extras', elsewhere: OPTIONS_ELSEWHERE });
  const sources = resolveSources(options);
  const names = sources.map(({ name }) => name);
  const console = resolveConsole(options);
  const webhooks = resolveWebhooks(options, names);
  const destinations = withConsoleApi(resolveDestinations(options), console);
  const connection = resolveConnection(options, hostConnection);
  const resolved: ResolvedOptions = {
    sources,
    webhooks,
    destinations,
    groupIsTenant: destinations?.tenantOf === groupOf,
    console,
    customDestinations: resolveCustomDestinations(
      options,
      names,
      webhooks.map(({ id }) => id),
    ),
    forwarding: resolveForwarding(options),
    trackingApi: resolveTrackingApi(givenExtras.trackingApi, problems),
    connection,
    prefix: resolvePrefix(options, hostPrefix),
    partitions: resolvePartitions(options, connection),
    connectionIsDefault: isDefaultConnection(options.get('connection'), hostConnection),
    worker: extras.boolean('worker', true),
    flushAt: options.number('flushAt', 20, { min: 1 }),
    flushAfter: options.milliseconds('flushAfter', 5_000, { min: 0, max: LONGEST_TIMER }),
    maxBufferedBytes: options.number('maxBufferedBytes', limitedByHeap(MAX_BUFFERED_BYTES), { min: 0 }),
    concurrency: options.number('concurrency', 16, { min: 1 }),
    connections: options.number('connections', 64, { min: 1 }),
    shutdownTimeout: options.milliseconds('shutdownTimeout', 10_000, { min: 0, max: LONGEST_TIMER }),
    unknownJobTimeout: options.milliseconds('unknownJobTimeout', 10 * 60_000, { min: 0 }),
    context: resolveContext(options),
    beforeSend: resolveBeforeSend(options),
    ingest: resolveIngest(options),
    audiences: resolveAudiences(options, names),
    outbox: resolveOutbox(options),
    history: options.boolean('history', true),
    metrics: resolveMetrics(options),
    tracing: resolveTracing(options),
    enabled: options.boolean('enabled', true),
  };
  extras.boolean('isGlobal', true);
  checkSourceNames(extras, names);
  checkApiPath(options, destinations?.api, resolved.trackingApi?.path);
  checkConsolePath(options, resolved.console?.path, destinations?.api?.path);
  const isOpened = resolved.enabled && !isRecorded;
  if (isOpened && resolved.connection.kind === 'embedded' && !resolved.worker) {
    options.report(
      'connection',
      'a `redis://` or `postgres://` URL with `worker: false`: no other process can deliver from the embedded queue',
      'the embedded queue',
    );
  }
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return delivers(resolved) ? resolved : withoutQueue(resolved);
}

/** Whether this process could deliver anything. */
function delivers(options: ResolvedOptions): boolean {
  const { enabled, webhooks, forwarding, destinations } = options;
  const isEmpty = webhooks.length === 0 && !hasCustomDestinations(options);
  return enabled && (!isEmpty || forwarding !== undefined || destinations !== undefined);
}

/** Returns the options of a process that delivers nothing and so opens nothing. */
function withoutQueue(options: ResolvedOptions): ResolvedOptions {
  return {
    ...options,
    connection: { kind: 'none' },
    partitions: 1,
    connectionIsDefault: false,
    worker: false,
  };
}

function checkSourceNames(extras: OptionReader, sources: readonly string[]): void {
  const expected = `an array of names of sources (${sources.join(', ')})`;
  for (const name of extras.array('sourceNames', expected) ?? []) {
    if (sources.every((source) => source !== name)) extras.report('sourceNames', expected, describe(name));
  }
}

function resolveContext(options: OptionReader): JsonObject {
  const context = options.get('context');
  if (context === undefined) return {};
  if (isJsonObject(context)) return { ...context };
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
