import { AnalyticsService } from './analytics.service.js';
import { AudiencesService } from './audiences/audiences.service.js';
import { ConsoleService } from './console/console.service.js';
import { DeliveriesService } from './deliveries/deliveries.service.js';
import { AnalyticsHealthIndicator } from './observability/analytics-health.indicator.js';
import { OutboxService } from './outbox/outbox.service.js';
import { DestinationsService } from './stored-destinations/destinations.service.js';

/** The services that an application injects by class. The module exports them to other copies of this package too. */
export const SERVICES = {
  AnalyticsService,
  DeliveriesService,
  AudiencesService,
  DestinationsService,
  ConsoleService,
  OutboxService,
  AnalyticsHealthIndicator,
};
