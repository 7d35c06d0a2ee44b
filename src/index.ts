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
} from './audiences/audience-store.js';
export { AudiencesService } from './audiences/audiences.service.js';
export type {
  AudienceCallOptions,
  AudienceDeleteOptions,
  AudienceSyncOptions,
  AudienceSyncResult,
  TraitSyncOptions,
  TraitSyncResult,
} from './audiences/audiences.types.js';
export type { TraitEntry } from './audiences/entry-chunks.js';
export type { FlushOptions, FlushResult } from './client/flush-result.js';
export type { SourceUsage } from './client/source-usage.js';
export { DeliveriesService } from './deliveries.service.js';
export type { EndpointEvent, MessageOutcome } from './delivery/delivery-events.js';
export type { FailedFilter, FailedMessage } from './delivery/failed-filter.js';
export type { FailedQuery } from './delivery/failed-messages.js';
export type { MessageCounts } from './delivery/message-counts.js';
export type { OutcomeClass, UrlOutcome } from './destinations/destination.js';
export type { TestResult } from './destinations/webhooks/endpoint.js';
export type { ExplainedRequest } from './destinations/webhooks/explained-request.js';
export type { RequestPhases } from './destinations/webhooks/request-phases.js';
export { AnalyticsClosedError } from './errors/analytics-closed.error.js';
export { AnalyticsError } from './errors/analytics.error.js';
export { DestinationNotFoundError } from './errors/destination-not-found.error.js';
export { AudienceBusyError } from './errors/audience-busy.error.js';
export { AudienceLockLostError } from './errors/audience-lock-lost.error.js';
export { AudienceNameTakenError } from './errors/audience-name-taken.error.js';
export { DuplicateModuleError } from './errors/duplicate-module.error.js';
export { EmbeddedQueueLockedError } from './errors/embedded-queue-locked.error.js';
export { EventViolationError } from './errors/event-violation.error.js';
export { InvalidDecoratorTargetError } from './errors/invalid-decorator-target.error.js';
export { InvalidAudienceNameError } from './errors/invalid-audience-name.error.js';
export { InvalidMessageError } from './errors/invalid-message.error.js';
export { InvalidOptionsError, type OptionProblem } from './errors/invalid-options.error.js';
export { InvalidSecretError } from './errors/invalid-secret.error.js';
export { MessageRefusedError } from './errors/message-refused.error.js';
export { MessageTooLargeError } from './errors/message-too-large.error.js';
export { MissingPackageError } from './errors/missing-package.error.js';
export { RawBodyMissingError } from './errors/raw-body-missing.error.js';
export { UnknownSourceError } from './errors/unknown-source.error.js';
export { UnsupportedAdapterError } from './errors/unsupported-adapter.error.js';
export {
  WebhookVerificationError,
  type WebhookVerificationReason,
} from './errors/webhook-verification.error.js';
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
  EmbeddedConnection,
  SourceOptions,
  TrackingApiOptions,
  StandardWebhooksOptions,
  WebhooksOptions,
} from './options/analytics-options.interface.js';
export { ANALYTICS_QUEUE } from './queue/queue.constants.js';
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
export type { OnViolation } from './tracking/event-schemas.js';
export type {
  AnalyticsRequest,
  Identity,
  IdentityResolver,
  RequestContext,
  RequestContextMode,
} from './tracking/request-context.types.js';
export type { StandardSchema } from './tracking/standard-schema.types.js';
export { Alias, Group, Identify, Page, Screen, Track } from './tracking/track.decorators.js';
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
} from './tracking/track-options.types.js';
