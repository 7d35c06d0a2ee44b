/** @module nestjs-analytics/testing */
import './register-matchers.js';

export {
  type DestinationStoreCheck,
  destinationStoreChecks,
} from '../stored-destinations/stores/check-destination-store.js';
export { AnalyticsTestingModule, type AnalyticsTestingOptions } from './analytics-testing.module.js';
export type { WaitOptions } from './arrivals.js';
export { analyticsMatchers } from './matchers.js';
export type { AnalyticsMatchers, Expected } from './matchers.types.js';
export { RecordedAnalytics } from './recorded-analytics.js';
export type { AsSent, RecordedEvent, RecordedIdentify, RecordedMessage } from './recorded-message.types.js';
export { startTestReceiver, TestReceiver, type TestReceiverOptions } from './test-receiver.js';
export type { ReceivedWebhook, TestAnswer } from './test-receiver.types.js';
export { WaitTimeoutError } from '../errors/testing.errors.js';
