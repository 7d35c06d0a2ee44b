/**
 * The codes of all errors that this package throws, or stores as the reason of a failed job. The outcomes of
 * requests have more codes of their own.
 */
export type AnalyticsErrorCode =
  | 'ADDRESS_REFUSED'
  | 'ANALYTICS_CLOSED'
  | 'AUDIENCE_BUSY'
  | 'AUDIENCE_LOCK_LOST'
  | 'AUDIENCE_NAME_TAKEN'
  | 'CONSOLE_DISABLED'
  | 'CONSOLE_LINK_KEY'
  | 'DESTINATIONS_DISABLED'
  | 'DESTINATIONS_READ_ONLY'
  | 'DESTINATION_CHANGED'
  | 'DESTINATION_DISABLED'
  | 'DESTINATION_KEY'
  | 'DESTINATION_CONFIGURED'
  | 'DESTINATION_LIMIT'
  | 'DESTINATION_NOT_FOUND'
  | 'DESTINATION_STORE_TIMEOUT'
  | 'DESTINATION_WRITE_TIMEOUT'
  | 'DNS_BUSY'
  | 'DNS_FAILED'
  | 'DUPLICATE_MODULE'
  | 'EMBEDDED_QUEUE_BROKEN'
  | 'EMBEDDED_QUEUE_LOCKED'
  | 'EMBEDDED_QUEUE_MAIN_THREAD'
  | 'EMBEDDED_QUEUE_OPEN_FAILED'
  | 'EMBEDDED_QUEUE_PLATFORM'
  | 'EMBEDDED_QUEUE_UNCLOSED'
  | 'EMBEDDED_QUEUE_UPKEEP_FAILED'
  | 'EVENT_VIOLATION'
  | 'HISTORY_DISABLED'
  | 'INVALID_AUDIENCE_NAME'
  | 'INVALID_CONSOLE_LINK'
  | 'INVALID_DECORATOR_TARGET'
  | 'INVALID_DESTINATION'
  | 'INVALID_EXECUTOR'
  | 'INVALID_FILTER'
  | 'INVALID_HEADERS'
  | 'INVALID_IMPORT'
  | 'INVALID_JOB'
  | 'INVALID_MESSAGE'
  | 'INVALID_OPTIONS'
  | 'INVALID_SECRET'
  | 'MESSAGE_REFUSED'
  | 'MESSAGE_TOO_LARGE'
  | 'MISSING_PACKAGE'
  | 'NOT_A_WEBHOOK'
  | 'NO_QUEUE'
  | 'OPTIONS_FACTORY_FAILED'
  | 'OUTBOX_NOT_CONFIGURED'
  | 'OUTBOX_TABLE'
  | 'OTHER_APPLICATION'
  | 'PERMANENT_DELIVERY'
  | 'RAW_BODY_MISSING'
  | 'REPLAY_INCOMPLETE'
  | 'TIMEOUT'
  | 'UNKNOWN_JOB_FORMAT'
  | 'UNKNOWN_SOURCE'
  | 'UNSUPPORTED_ADAPTER'
  | 'UNSUPPORTED_OUTBOX_DATABASE'
  | 'UNSUPPORTED_QUEUE_SERVER'
  | 'WAIT_TIMEOUT'
  | 'WEBHOOK_NOT_VERIFIED';

/**
 * The base of every error of this module: a stable `code` to branch on and to look up in docs/errors.md, and a
 * message that says what to do.
 */
export abstract class AnalyticsError extends Error {
  /** Stable identifier of the kind of error. Messages may change, codes do not. */
  abstract readonly code: AnalyticsErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
