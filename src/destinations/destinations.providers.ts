import { Logger, type Provider } from '@nestjs/common';
import debugFactory from 'debug';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { DeliveryEvents, type EndpointEvent, tellOnce } from '../deliveries/delivery-events.js';
import { EndpointLog } from '../deliveries/endpoint-log.js';
import { EventChannel } from '../deliveries/event-channel.js';
import { FailedMessages } from '../deliveries/failed-messages.js';
import { HISTORY_STORE } from '../deliveries/history/history.providers.js';
import { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import type { HistoryStore } from '../deliveries/history/history-store.js';
import { DestinationNotFoundError, NotAWebhookError } from '../errors/delivery.errors.js';
import { thrownAt } from '../errors/thrown-at.js';
import { isWritable } from '../options/destination-store.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { WebhooksDestination } from '../webhooks/webhooks-destination.js';
import { DeadDestinations } from './dead-destinations.js';
import { CustomDestinations } from './custom/custom-destinations.js';
import { ConfiguredDestinations } from './configured-destinations.js';
import { DestinationDirectory } from './destination-directory.js';
import { DestinationRecords, type DestinationRecordsParts } from './destination-records.js';
import { DestinationRegistry } from './destination-registry.js';
import { DestinationsEnd } from './destinations-end.js';
import { DestinationsService } from './destinations.service.js';
import type { DestinationEvent } from './destinations.types.js';
import { KeptMessages } from './kept-messages.js';
import { LiveDestinations } from './live-destinations.js';
import { SecretBox } from './secret-box.js';
import { createDestinationStore } from './stores/create-destination-store.js';

const debug = debugFactory('analytics');

/** Where destinations at run time are; `undefined` in an application without them, which pays nothing. */
const DESTINATION_PARTS = Symbol('nestjs-analytics:destination-parts');

type Parts = DestinationRecordsParts | undefined;

const logger = (): Logger => new Logger('Analytics');

function createParts({ destinations }: ResolvedOptions, { storage }: QueueBackend): Parts {
  if (destinations === undefined) return undefined;
  const beside = createDestinationStore(storage);
  const { store = beside, encryptionKeys } = destinations;
  const directory = new DestinationDirectory({
    store,
    feed: beside,
    onAway: (error) => {
      logger().warn(
        `Destinations cannot be looked up: ${thrownAt(error)}. Messages wait in memory until they can.`,
      );
    },
    onBack: () => {
      logger().log('Destinations can be looked up again.');
    },
  });
  return { store, feed: beside, directory, box: new SecretBox(encryptionKeys) };
}

function createLive(
  { destinations }: ResolvedOptions,
  parts: Parts,
  clients: WebhookClients,
  observer: EndpointLog,
  { endpoints }: DeliveryEvents,
): LiveDestinations | undefined {
  if (destinations === undefined || parts === undefined) return undefined;
  const { allowPrivateNetwork, disableAfter } = destinations;
  const client = clients.for({ allowPrivateNetwork });
  const dead = createDead(parts, disableAfter, endpoints);
  return new LiveDestinations({
    ...parts,
    client,
    allowPrivateNetwork,
    observer,
    onAttempt: (record, attempt) => {
      // A store that is only read belongs to the application, and so does what is disabled there.
      if (isWritable(parts.store)) dead.attempted(record, attempt);
    },
  });
}

function createDead(
  parts: DestinationRecordsParts,
  disableAfter: number,
  endpoints: EventChannel<EndpointEvent>,
): DeadDestinations {
  const records = new DestinationRecords(parts);
  return new DeadDestinations({
    disableAfter,
    record: (id, failingSince) => records.change(id, {}, () => ({ failingSince })),
    disable: (id, reason) =>
      records.change(id, {}, () => ({ enabled: false, disabledReason: reason, failingSince: undefined })),
    tell: (event) => {
      const { type, destination, reason } = event;
      const what = type === 'disabled' ? 'was disabled' : 'will be disabled in a day';
      logger().warn(`The destination "${destination}" ${what}: ${reason}. Its messages are kept when it is.`);
      endpoints.emit(event);
    },
    onFailed: (id, error) => {
      // It was deleted meanwhile.
      if (error instanceof DestinationNotFoundError) return;
      logger().warn(`The state of the destination "${id}" could not be stored: ${thrownAt(error)}.`);
    },
  });
}

function createKept(failed: FailedMessages): KeptMessages {
  return new KeptMessages(
    (id) => failed.replay({ destination: id, error: 'DESTINATION_DISABLED' }),
    (id, error) => {
      // It was deleted meanwhile, and its messages with it.
      if (error instanceof DestinationNotFoundError) return;
      logger().warn(
        `Messages that were kept for the destination "${id}" could not be read: ${thrownAt(error)}. Call ` +
          '`enable` for it again.',
      );
    },
  );
}

function createForget(
  recorder: HistoryRecorder | undefined,
  store: HistoryStore | undefined,
): (id: string) => Promise<void> {
  return async (id) => {
    recorder?.discard(id);
    try {
      await store?.forget(id);
    } catch (error) {
      // It then goes a week after its last delivery. The destination is deleted whatever becomes of its history.
      debug('the history of a deleted destination could not be removed: %o', error);
    }
  };
}

function createService(
  { destinations, sources, webhooks }: ResolvedOptions,
  parts: Parts,
  custom: CustomDestinations,
  registry: DestinationRegistry,
  kept: KeptMessages,
  events: EventChannel<DestinationEvent>,
  recorder: HistoryRecorder | undefined,
  history: HistoryStore | undefined,
): DestinationsService {
  if (destinations === undefined || parts === undefined) return new DestinationsService(undefined, events);
  return new DestinationsService(
    {
      records: new DestinationRecords(parts),
      configured: new ConfiguredDestinations({ webhooks, custom, sources: sourceNames(sources) }),
      rules: { ...destinations, sources: sourceNames(sources) },
      sendTest: async (id) => {
        const destination = await registry.find(id);
        if (destination instanceof WebhooksDestination) return destination.sendTest();
        throw destination === undefined ? new DestinationNotFoundError(id) : new NotAWebhookError(id);
      },
      replayKept: (id) => kept.deliver(id),
      forgetHistory: createForget(recorder, history),
    },
    events,
  );
}

function createCustom(
  { customDestinations, sources, webhooks }: ResolvedOptions,
  moduleRef: ModuleRef,
  modules: ModulesContainer,
): CustomDestinations {
  return new CustomDestinations({
    given: customDestinations,
    sources: sourceNames(sources),
    taken: webhooks.map(({ id }) => id),
    instantiate: (type) => {
      const isProvided = [...modules.values()].some(({ providers }) => providers.has(type));
      return isProvided ? moduleRef.get(type, { strict: false }) : moduleRef.create(type);
    },
  });
}

const DESTINATION_EVENTS = Symbol('nestjs-analytics:destination-events');

/** The destinations at run time. */
export const DESTINATIONS_PROVIDERS: Provider[] = [
  { provide: DESTINATION_PARTS, inject: [RESOLVED_OPTIONS, QUEUE_BACKEND], useFactory: createParts },
  {
    provide: DestinationDirectory,
    inject: [DESTINATION_PARTS],
    useFactory: (parts: Parts) => parts?.directory,
  },
  {
    provide: LiveDestinations,
    inject: [RESOLVED_OPTIONS, DESTINATION_PARTS, WebhookClients, EndpointLog, DeliveryEvents],
    useFactory: createLive,
  },
  {
    provide: CustomDestinations,
    inject: [RESOLVED_OPTIONS, ModuleRef, ModulesContainer],
    useFactory: createCustom,
  },
  { provide: KeptMessages, inject: [FailedMessages], useFactory: createKept },
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
      HistoryRecorder,
      HISTORY_STORE,
    ],
    useFactory: createService,
  },
  {
    provide: DestinationsEnd,
    inject: [DESTINATION_PARTS, KeptMessages, DESTINATION_EVENTS],
    useFactory: (parts: Parts, kept: KeptMessages, events: EventChannel<DestinationEvent>) =>
      new DestinationsEnd([kept, ...(parts === undefined ? [] : [parts.directory])], events),
  },
];
