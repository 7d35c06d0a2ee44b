import { getQueueToken } from '@nestjs/bullmq';
import { Logger, type Provider } from '@nestjs/common';
import { DeliveriesService } from './deliveries.service.js';
import { DeliveryEvents } from './delivery/delivery-events.js';
import { DeliveryReporter } from './delivery/delivery-reporter.js';
import { EndpointLog } from './delivery/endpoint-log.js';
import { FailedMessages } from './delivery/failed-messages.js';
import { UserEraser } from './delivery/user-eraser.js';
import { DestinationRegistry } from './destinations/destination-registry.js';
import { BatchQueue } from './queue/batch-queue.js';
import { BatchStore } from './queue/batch-store.js';
import { ANALYTICS_QUEUE } from './queue/queue.constants.js';
import type { BatchJobQueue } from './queue/queue-backend.js';

const QUEUE = getQueueToken(ANALYTICS_QUEUE);

const logger = () => new Logger('Analytics');

/** What becomes of the messages, and what can be done about it. */
export const DELIVERIES_PROVIDERS: Provider[] = [
  { provide: DeliveryEvents, useFactory: () => new DeliveryEvents(logger()) },
  {
    provide: DeliveryReporter,
    inject: [DeliveryEvents],
    useFactory: ({ endpoints, outcomes }: DeliveryEvents) =>
      new DeliveryReporter(new EndpointLog(logger(), endpoints), outcomes, logger()),
  },
  { provide: BatchStore, inject: [QUEUE], useFactory: (queue: BatchJobQueue) => new BatchStore(queue) },
  {
    provide: FailedMessages,
    inject: [BatchStore, QUEUE, DestinationRegistry],
    useFactory: (store: BatchStore, queue: BatchJobQueue, destinations: DestinationRegistry) =>
      new FailedMessages(store, new BatchQueue(queue), destinations),
  },
  {
    provide: UserEraser,
    inject: [FailedMessages],
    useFactory: (messages: FailedMessages) => new UserEraser(messages, logger()),
  },
  {
    provide: DeliveriesService,
    inject: [BatchStore, FailedMessages, DestinationRegistry, DeliveryEvents],
    useFactory: (
      store: BatchStore,
      messages: FailedMessages,
      destinations: DestinationRegistry,
      events: DeliveryEvents,
    ) => new DeliveriesService(store, messages, destinations, events),
  },
];
