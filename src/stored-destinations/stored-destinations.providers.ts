import type { Provider } from '@nestjs/common';
import debugFactory from 'debug';
import { DeliveryEvents, tellOnce } from '../deliveries/delivery-events.js';
import { DestinationLines } from '../deliveries/destination-lines.js';
import { EndpointLog } from '../deliveries/endpoint-log.js';
import { EventChannel } from '../deliveries/event-channel.js';
import { FailedMessages } from '../deliveries/failed-messages.js';
import { HISTORY_STORE } from '../deliveries/history/history.providers.js';
import { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import type { HistoryStore } from '../deliveries/history/history-store.js';
import { DestinationNotFoundError, NotAWebhookError } from '../errors/delivery.errors.js';
import { ApplicationEnd } from '../shared/application-end.js';
import { thrownAt } from '../shared/thrown-at.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import type { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { WEBHOOK_CLIENTS } from '../webhooks/webhooks.tokens.js';
import { ConfiguredDestinations } from './configured-destinations.js';
import { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import type { DestinationDirectory } from './destination-directory.js';
import { DestinationRegistry } from '../destinations/destination-registry.js';
import { DestinationsEnd } from './destinations-end.js';
import { DestinationsService } from './destinations.service.js';
import { DESTINATION_DIRECTORY, DESTINATION_PARTS, LIVE_DESTINATIONS } from './stored-destinations.tokens.js';
import type { DestinationEvent } from './destinations.types.js';
import { HistoryRemoval } from './history-removal.js';
import { idsOf, isAmong, type KeptFor, namesOf } from './kept-for.js';
import { KeptMessages } from './kept-messages.js';
import type { LiveDestinations } from './live-destinations.js';
import type { DestinationParts } from './open-destinations.js';
import { SharedReplays } from './shared-replays.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/** Tables whose contents the directory remembers. */
const OF_DESTINATIONS = /\.destination(_tenant|_change)?$/;

const debug = debugFactory('analytics');

/** `undefined` in an application without destinations at run time, which pays nothing for them. */
type Parts = DestinationParts | undefined;

const logger = (): AnalyticsLogger => new AnalyticsLogger();

async function createParts(
  { destinations }: ResolvedOptions,
  { storage, health }: QueueBackend,
): Promise<Parts> {
  if (destinations === undefined) return undefined;
  const { openDestinations } = await import('./open-destinations.js');
  const parts = await openDestinations(destinations, storage);
  // A look-up may have found a restored table before its rows, and a restore announces no change.
  health.tables.onFound((tables) => {
    if (tables.some((table) => OF_DESTINATIONS.test(table))) parts.directory.forgetAll();
  });
  return parts;
}

async function createLive(
  { destinations }: ResolvedOptions,
  parts: Parts,
  clients: WebhookClients,
  observer: EndpointLog,
  { endpoints }: DeliveryEvents,
  lines: DestinationLines,
): Promise<LiveDestinations | undefined> {
  if (destinations === undefined || parts === undefined) return undefined;
  const { createLiveDestinations } = await import('./create-live-destinations.js');
  const live = createLiveDestinations(destinations, parts, clients, observer, endpoints, lines);
  observer.limitTenants((id) => live.tenantOf(id));
  return live;
}

function createKept(failed: FailedMessages, parts: Parts): KeptMessages {
  const warn = (destinations: readonly KeptFor[], reason: string): void => {
    logger().warn(
      `Messages that were kept for ${namesOf(destinations)} while disabled may still be kept: ${reason}. Call ` +
        "`deliveries.replay({ error: 'DESTINATION_DISABLED' })`.",
    );
  };
  const replays = new SharedReplays((selection) => failed.replayKept(selection));
  return new KeptMessages({
    replay: (id, tenant) => replays.of(id, tenant === undefined ? `destination ${id}` : `tenant ${tenant}`),
    search: (among) => failed.keptFor(idsOf(among)),
    find: async (id, among) => {
      const record = await parts?.directory.find(id);
      const isMeant = typeof record === 'object' && record.enabled !== false && isAmong(record, among);
      return isMeant && (await failed.isDeliverable(id)) ? record : undefined;
    },
    onFailed: (destinations, error) => {
      warn(destinations, `they could not be read (${thrownAt(error)})`);
    },
    onSkipped: (destinations, error) => {
      logger().warn(
        `Messages that were kept for ${namesOf(destinations)} while disabled may still be kept, since a look-up ` +
          `failed for a destination, or the queue did (${thrownAt(error)}). This is tried again until it succeeds.`,
      );
    },
    onLost: (destinations) => {
      warn(destinations, 'the application closed before it had looked for all of them');
    },
  });
}

function createHistories(
  recorder: HistoryRecorder | undefined,
  store: HistoryStore | undefined,
): HistoryRemoval {
  return new HistoryRemoval({
    discard: (id) => recorder?.discard(id),
    forget: async (id) => store?.forget(id),
    onFailed: (error) => {
      // The history then expires a week after its last delivery.
      debug('the history of a deleted destination could not be removed: %o', error);
    },
  });
}

function createService(
  { destinations, sources, webhooks }: ResolvedOptions,
  parts: Parts,
  custom: CustomDestinations,
  registry: DestinationRegistry,
  kept: KeptMessages,
  events: EventChannel<DestinationEvent>,
  histories: HistoryRemoval,
  end: ApplicationEnd,
): DestinationsService {
  if (destinations === undefined || parts === undefined)
    return new DestinationsService(end.guarding(undefined), events);
  return new DestinationsService(
    end.guarding({
      records: parts.records,
      notices: parts.notices,
      configured: new ConfiguredDestinations({ webhooks, custom, sources: sourceNames(sources) }),
      rules: { ...destinations, sources },
      sendTest: async (id) => {
        const { WebhooksDestination } = await import('../webhooks/webhooks-destination.js');
        const destination = await registry.find(id);
        if (destination instanceof WebhooksDestination) return destination.sendTest();
        throw destination === undefined ? new DestinationNotFoundError(id) : new NotAWebhookError(id);
      },
      kept,
      histories,
    }),
    events,
  );
}

const DESTINATION_EVENTS = Symbol('nestjs-analytics:destination-events');

/** Providers of the destinations at run time. */
export const STORED_DESTINATIONS_PROVIDERS: Provider[] = [
  { provide: DESTINATION_PARTS, inject: [RESOLVED_OPTIONS, QUEUE_BACKEND], useFactory: createParts },
  {
    provide: DESTINATION_DIRECTORY,
    inject: [DESTINATION_PARTS],
    useFactory: (parts: Parts): DestinationDirectory | undefined => parts?.directory,
  },
  {
    provide: LIVE_DESTINATIONS,
    inject: [
      RESOLVED_OPTIONS,
      DESTINATION_PARTS,
      WEBHOOK_CLIENTS,
      EndpointLog,
      DeliveryEvents,
      DestinationLines,
    ],
    useFactory: createLive,
  },
  { provide: KeptMessages, inject: [FailedMessages, DESTINATION_PARTS], useFactory: createKept },
  { provide: HistoryRemoval, inject: [HistoryRecorder, HISTORY_STORE], useFactory: createHistories },
  {
    provide: DESTINATION_EVENTS,
    useFactory: () => new EventChannel<DestinationEvent>(tellOnce('changes$', logger())),
  },
  {
    provide: DestinationsService,
    inject: [
      RESOLVED_OPTIONS,
      DESTINATION_PARTS,
      CustomDestinations,
      DestinationRegistry,
      KeptMessages,
      DESTINATION_EVENTS,
      HistoryRemoval,
      ApplicationEnd,
    ],
    useFactory: createService,
  },
  {
    provide: DestinationsEnd,
    inject: [DESTINATION_PARTS, KeptMessages, HistoryRemoval, DESTINATION_EVENTS],
    useFactory: (
      parts: Parts,
      kept: KeptMessages,
      histories: HistoryRemoval,
      events: EventChannel<DestinationEvent>,
    ) =>
      new DestinationsEnd(
        kept,
        histories,
        parts === undefined ? [] : [parts.directory, parts.notices],
        events,
      ),
  },
];
