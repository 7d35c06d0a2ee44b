import type { Provider } from '@nestjs/common';
import { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import type { DestinationDirectory } from '../stored-destinations/destination-directory.js';
import { DestinationKeys } from '../destinations/destination-selection.js';
import { DESTINATION_DIRECTORY } from '../stored-destinations/stored-destinations.tokens.js';
import { LiveEvents } from '../live/live-events.js';
import { checkGroup } from '../messages/context-group.js';
import { LIBRARY } from '../messages/library.js';
import type { AnalyticsMessage, JsonObject, MessageType } from '../messages/message.types.js';
import { UnknownFields } from '../messages/unknown-fields.js';
import { RECORDING, RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { forwardingId } from '../options/resolve-forwarding.js';
import { DEFAULT_FAILED_RETENTION } from '../options/resolve-webhooks.js';
import type { ResolvedCustomDestination } from '../options/resolve-custom-destinations.js';
import { hasCustomDestinations, type ResolvedOptions } from '../options/resolved-options.js';
import { BacklogCounter } from '../queue/backlog-counter.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { TELEMETRY, type Telemetry } from '../shared/telemetry.js';
import { webhookBody } from '../webhooks/request/webhook-body.js';
import { WEBHOOKS_NAME } from '../webhooks/webhooks.tokens.js';
import { AnalyticsClient } from './analytics-client.js';
import type { Recording } from './analytics-client.types.js';
import { CALL_HOOKS, type CallHooks } from './call-hooks.js';
import { ClientLog } from './client-log.js';
import { MESSAGE_STORE, type MessageStore } from './message-store.js';
import { MessageOwner } from './message-owner.js';
import { LateRouter, type Router, type SourceConnection, StaticRouter } from './router.js';
import { TenantRouter } from './tenant-router.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/**
 * Returns the longest retention of all destinations, since a job may have messages for several. In a worker of version
 * 0.1.0, a job that fails also drops all failed jobs that are older than its own retention.
 */
function longestRetention(options: ResolvedOptions): number {
  const hasOthers = options.destinations !== undefined || hasCustomDestinations(options);
  const ofOthers = hasOthers ? DEFAULT_FAILED_RETENTION : 0;
  return Math.max(ofOthers, ...options.webhooks.map(({ failedRetention }) => failedRetention));
}

/** Returns all connections from the enabled sources to the enabled destinations that they are connected to. */
function connectionsOf(
  options: ResolvedOptions,
  custom: readonly ResolvedCustomDestination[],
): SourceConnection[] {
  const { enabled, sources, webhooks, forwarding } = options;
  if (!enabled) return [];
  const failedRetention = longestRetention(options);
  return sources
    .filter((source) => source.enabled)
    .flatMap(({ name: source }) => [
      ...webhooks
        .filter((destination) => destination.enabled && destination.sources.includes(source))
        .map(({ id }) => ({
          source,
          destination: id,
          destinationName: WEBHOOKS_NAME,
          failedRetention,
        })),
      ...custom
        .filter((destination) => destination.enabled && destination.sources.includes(source))
        .map(({ id, name }) => ({ source, destination: id, destinationName: name, failedRetention })),
      ...(forwarding === undefined
        ? []
        : [
            {
              source,
              destination: forwardingId(source),
              destinationName: undefined,
              failedRetention: forwarding.failedRetention,
            },
          ]),
    ]);
}

function createRouter(
  options: ResolvedOptions,
  log: ClientLog,
  directory: DestinationDirectory | undefined,
  custom: readonly ResolvedCustomDestination[],
): Router {
  const { enabled, sources, destinations } = options;
  const fixed = createStaticRouter(options, log, custom);
  if (destinations === undefined || directory === undefined) return fixed;
  return new TenantRouter(fixed, directory, {
    sources: sources.filter((source) => enabled && source.enabled).map(({ name }) => name),
    tenantOf: destinations.tenantOf,
    isOwnTenantOf: !options.groupIsTenant,
    onWrongTenant: log.wrongTenant.bind(log),
    configured: [...options.webhooks, ...custom].map(({ id }) => id),
    onWrongId: log.wrongDestinationId.bind(log),
    destinationName: WEBHOOKS_NAME,
    failedRetention: longestRetention(options),
  });
}

function createStaticRouter(
  options: ResolvedOptions,
  log: ClientLog,
  custom: readonly ResolvedCustomDestination[],
): StaticRouter {
  const destinations = [...options.webhooks.map(({ id }) => ({ id, name: WEBHOOKS_NAME })), ...custom];
  const router = new StaticRouter({
    connections: connectionsOf(options, custom),
    destinations,
    onUnknownKey: (key, similar, isReceived) => {
      if (options.destinations !== undefined && similar === undefined) return;
      log.unknownIntegration(key, similar, isReceived);
    },
  });
  if (!router.forwards) lookAtSchemas(options, new DestinationKeys(destinations), log);
  return router;
}

function lookAtSchemas({ sources }: ResolvedOptions, keys: DestinationKeys, log: ClientLog): void {
  for (const { name, schema } of sources) {
    for (const key of [...schema.values()].flatMap((filter) => (filter === false ? [] : filter))) {
      if (!keys.has(key)) log.unknownInSchema(name, key, keys.similarTo(key));
    }
  }
}

/** Returns a message as it is forwarded to another tracking API, where `integrations` selects the destinations. */
function forwardedBody(message: AnalyticsMessage): JsonObject {
  return { ...message };
}

/** Returns a router to all destinations, even while the custom destinations are not known yet. */
function routerOf(
  options: ResolvedOptions,
  log: ClientLog,
  directory: DestinationDirectory | undefined,
  custom: CustomDestinations,
): Router {
  if (custom.known !== undefined) return createRouter(options, log, directory, custom.known);
  const tenantOf = directory && options.destinations?.tenantOf;
  const owner = tenantOf && new MessageOwner({ tenantOf, onWrongTenant: log.wrongTenant.bind(log) });
  const router = new LateRouter(owner);
  custom.whenKnown((known) => {
    router.use(createRouter(options, log, directory, known));
  });
  return router;
}

function createClient(
  options: ResolvedOptions,
  queue: BatchQueue,
  { health }: QueueBackend,
  hooks: CallHooks,
  admission: BacklogCounter,
  directory: DestinationDirectory | undefined,
  custom: CustomDestinations,
  recording: Recording | undefined,
  store: MessageStore | undefined,
  telemetry: Telemetry | undefined,
  live: LiveEvents | undefined,
): AnalyticsClient {
  const { flushAt, flushAfter, maxBufferedBytes, beforeSend, forwarding, sources, connection } = options;
  const log = new ClientLog(health, new AnalyticsLogger());
  const client = new AnalyticsClient(
    {
      router: routerOf(options, log, directory, custom),
      sink: queue,
      admission,
      telemetry,
      observer: log,
      // Without an outbox, calls in a transaction are refused in a test as they are in the application.
      store: store && (recording?.store ?? store),
      createCore: recording?.createCore,
      live,
    },
    {
      flushAt,
      flushAfter,
      maxBufferedBytes,
      beforeSend,
      context: { library: LIBRARY, ...options.context },
      schemas: new Map(sources.map(({ name, schema }) => [name, schema])),
      sourceTenants: tenantsOf(options),
      body: forwarding === undefined ? webhookBody : forwardedBody,
      isForwarding: forwarding !== undefined,
      onCall: watchCalls(),
      callContext: () => hooks.callContext(),
      refusal: (message) => hooks.refusal(message),
      check: options.groupIsTenant ? checkGroup : undefined,
      // Without a queue, nothing is kept that would have to be removed.
      onDeletion: connection.kind === 'none' ? undefined : hooks.onDeletion,
    },
  );
  health.countPendingBy(() => client.pending);
  return client;
}

/** Returns the tenant of each bound source; `undefined` if there is none, so that other applications pay nothing. */
function tenantsOf({ sources }: ResolvedOptions): ReadonlyMap<string, string> | undefined {
  const bound = sources.flatMap(({ name, tenant }): [string, string][] =>
    tenant === undefined ? [] : [[name, tenant]],
  );
  return bound.length === 0 ? undefined : new Map(bound);
}

/** Returns a check for misspelt fields during development, since they are mistakes in the code. */
function watchCalls(): ((type: MessageType, params: object) => void) | undefined {
  if (process.env.NODE_ENV === 'production') return undefined;
  const logger = new AnalyticsLogger();
  const unknownFields = new UnknownFields((text) => {
    logger.warn(text);
  });
  return (type, params) => {
    unknownFields.look(type, params);
  };
}

/** Brings calls into the queue. */
export const CLIENT_PROVIDERS: Provider[] = [
  {
    provide: AnalyticsClient,
    inject: [
      RESOLVED_OPTIONS,
      BatchQueue,
      QUEUE_BACKEND,
      CALL_HOOKS,
      BacklogCounter,
      DESTINATION_DIRECTORY,
      CustomDestinations,
      { token: RECORDING, optional: true },
      MESSAGE_STORE,
      TELEMETRY,
      LiveEvents,
    ],
    useFactory: createClient,
  },
];
