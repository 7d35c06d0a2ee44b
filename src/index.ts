/** @module nestjs-analytics */
export { AnalyticsModule } from './analytics.module.js';
export type { AnalyticsModuleExtras } from './analytics.module-definition.js';
export { AnalyticsService, type DeletionParams } from './analytics.service.js';
export type {
  AudienceDefinition,
  AudienceEntry,
  AudienceHold,
  AudienceKind,
  AudienceLockKind,
  AudienceStore,
  OfferResult,
  UserPage,
} from './options/audience-store.js';
export { AudiencesService } from './audiences/audiences.service.js';
export type {
  AudienceCallOptions,
  AudienceDeleteOptions,
  AudienceSyncOptions,
  AudienceSyncResult,
  TraitSyncOptions,
  TraitSyncResult,
} from './audiences/audiences.types.js';
export type { TraitEntry } from './audiences/trait-entries.js';
export type { FlushOptions, FlushResult } from './client/flush-result.js';
export type { SourceUsage } from './client/source-usage.js';
export type { OutboxExecutor } from './client/message-store.js';
export {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPrisma,
  fromTypeOrm,
} from './outbox/executors.js';
export { OutboxService } from './outbox/outbox.service.js';
export type { OutboxStatus } from './outbox/outbox-store.js';
export type { TransactionalAnalytics } from './outbox/transactional-analytics.js';
export * from './errors/outbox.errors.js';
export type { OutboxDatabase, OutboxOptions } from './options/outbox-options.interface.js';
export type { MetricsOptions, TracingOptions } from './options/telemetry-options.interface.js';
export { DeliveriesService } from './deliveries/deliveries.service.js';
export type {
  BacklogEvent,
  DeadDestinationEvent,
  EndpointEvent,
  EndpointStateEvent,
  MessageOutcome,
} from './deliveries/delivery-events.js';
export type { FailedFilter, FailedMessage } from './deliveries/failed-filter.js';
export type { FailedCountQuery, FailedQuery } from './deliveries/failed-messages.js';
export type {
  DeliveryAttempt,
  DurationPercentiles,
  HourRange,
  HourStats,
  HourTotals,
  MinuteTotals,
  RecentDelivery,
  RecentQuery,
  StatsQuery,
} from './deliveries/history/history.types.js';
export type { MessageCounts } from './deliveries/message-counts.js';
export type { OutcomeClass, UrlOutcome } from './queue/batch-job.js';
export type { TestResult } from './webhooks/endpoint.js';
export type { ExplainedRequest } from './webhooks/diagnostics/explained-request.js';
export type { RequestPhases } from './webhooks/diagnostics/request-phases.js';
export * from './errors/message.errors.js';
export { AnalyticsError, type AnalyticsErrorCode } from './errors/analytics.error.js';
export { DestinationsService } from './stored-destinations/destinations.service.js';
export type {
  CreatedDestination,
  DestinationDetails,
  DestinationDisableOptions,
  DestinationEvent,
  DestinationPage,
  DestinationQuery,
  DestinationScope,
  DestinationUpdate,
  DestinationUpdateOptions,
  NewDestination,
  SecretRotationOptions,
} from './stored-destinations/destinations.types.js';
export type {
  DestinationPageQuery,
  DestinationRecord,
  DestinationSecrets,
  DestinationStore,
  StoredDestination,
  WritableDestinationStore,
} from './options/destination-store.js';
export { ConsoleService, type ConsoleLinkOptions } from './console/console.service.js';
export * from './errors/console.errors.js';
export type { ConsoleOptions } from './options/console-options.interface.js';
export type {
  DestinationsAccess,
  DestinationsApiOptions,
  DestinationsOptions,
} from './options/destinations-options.interface.js';
export type {
  CustomDestination,
  CustomDestinationClass,
  DeliveredMessage,
  DeliveryAnswer,
  DeliveryContext,
  MessageResult,
} from './options/custom-destination.interface.js';
export {
  DestinationNotFoundError,
  HistoryDisabledError,
  InvalidFilterError,
  NotAWebhookError,
  PermanentDeliveryError,
  ReplayIncompleteError,
} from './errors/delivery.errors.js';
export * from './errors/destination.errors.js';
export * from './errors/audience.errors.js';
export {
  DuplicateModuleError,
  InvalidDecoratorTargetError,
  InvalidImportError,
  InvalidOptionsError,
  MissingPackageError,
  NoQueueError,
  OptionsFactoryError,
  UnsupportedAdapterError,
  UnsupportedQueueServerError,
} from './errors/setup.errors.js';
export type { OptionProblem } from './errors/option-problem.js';
export { EmbeddedQueueLockedError } from './errors/embedded-queue.errors.js';
export {
  InvalidHeadersError,
  InvalidSecretError,
  RawBodyMissingError,
  WebhookVerificationError,
  type WebhookVerificationReason,
} from './errors/receiver.errors.js';
export {
  AnalyticsHealthIndicator,
  type AnalyticsHealth,
  type AnalyticsHealthOptions,
} from './observability/analytics-health.indicator.js';
export type { AnalyticsStatus } from './observability/analytics-status.js';
export type { DownEndpoint } from './deliveries/endpoint-log.js';
export { getAnalyticsToken, InjectAnalytics } from './inject-analytics.decorator.js';
export type { AnalyticsEvents, EventName, EventProperties } from './messages/analytics-events.types.js';
export type {
  AliasParams,
  CommonParams,
  DeleteParams,
  GroupParams,
  IdentifyParams,
  IdentityParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './messages/message-params.types.js';
export type {
  AliasMessage,
  AnalyticsMessage,
  DeleteMessage,
  GroupMessage,
  IdentifyMessage,
  Integrations,
  JsonObject,
  MessageType,
  PageMessage,
  ScreenMessage,
  TrackMessage,
} from './messages/message.types.js';
export type {
  AnalyticsConnection,
  AnalyticsModuleOptions,
  AnalyticsOptionsFactory,
  AudiencesOptions,
  ClusterConnection,
  ClusterNode,
  EmbeddedConnection,
  SourceOptions,
  TrackingApiOptions,
} from './options/analytics-options.interface.js';
export type { StandardWebhooksOptions, WebhooksOptions } from './options/webhooks-options.interface.js';
export { ANALYTICS_QUEUE, analyticsQueueName } from './queue/partitions.js';
export { ANALYTICS_QUEUES } from './queue/queue.providers.js';
export { verifySignature } from './receivers/verify-signature.js';
export {
  type ReceivedHeaders,
  type StandardWebhookOptions,
  verifyStandardWebhook,
} from './receivers/verify-standard-webhook.js';
export {
  type SecretSource,
  webhookSignatureGuard,
  type WebhookSignatureGuardOptions,
} from './receivers/webhook-signature.guard.js';
export type {
  AnalyticsRequest,
  Identity,
  IdentityResolver,
  RequestContext,
  RequestContextMode,
} from './options/request-context.types.js';
export type {
  DefinedEvents,
  EventSchemas,
  EventsOf,
  OnViolation,
  StandardSchema,
} from './options/standard-schema.types.js';
export { defineEvents } from './ingest/schemas/define-events.js';
export { defaultIdentity } from './ingest/decorators/default-identity.js';
export { Alias, Group, Identify, Page, Screen, Track } from './ingest/decorators/track.decorators.js';
export type {
  AliasOptions,
  AnyMethod,
  FailedCall,
  GroupOptions,
  IdentifyOptions,
  MethodDecoratorOf,
  OfCall,
  PageOptions,
  ResultOf,
  ScreenOptions,
  SucceededCall,
  TrackOptions,
} from './ingest/decorators/decorator-options.types.js';
