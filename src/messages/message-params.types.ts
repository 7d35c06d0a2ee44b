import type { EventParams } from './analytics-events.types.js';
import type { Fields } from './fields.types.js';
import type { Integrations } from './message.types.js';

/** Fields that every call takes. */
export interface CommonParams {
  /** Extra context, merged over the default context one level deep. Not attributes of the user. */
  context?: Fields | undefined;
  /** Which destinations get this message. @default all */
  integrations?: Integrations | undefined;
  /** When it happened, a `Date` or an ISO 8601 string; for historical import. @default now */
  timestamp?: Date | string | undefined;
  /**
   * 1 to 100 printable ASCII characters without a blank at either end. Receivers drop duplicates by it.
   * @default a random UUID
   */
  messageId?: string | undefined;
}

/**
 * At least one of `userId` and `anonymousId` is required. Keep this order: the compiler explains errors by the last
 * member, which is the one that most calls mean.
 */
export type IdentityParams =
  { userId?: string | undefined; anonymousId: string } | { userId: string; anonymousId?: string | undefined };

/** What `identify` takes: who a user is, and the traits to set. */
export type IdentifyParams = CommonParams & IdentityParams & { traits?: Fields | undefined };

/** What `track` takes. The event and its properties are those of `AnalyticsEvents`, once it declares any. */
export type TrackParams = CommonParams & IdentityParams & EventParams;

interface ViewFields {
  name?: string | undefined;
  category?: string | undefined;
  properties?: Fields | undefined;
  /** The client specification's name for a page's `properties`. If both have a key, `properties` wins. */
  traits?: Fields | undefined;
}

/** What `page` takes: a page that somebody has viewed. */
export type PageParams = CommonParams & IdentityParams & ViewFields;

/** What `screen` takes: a screen of an app that somebody has viewed. */
export type ScreenParams = CommonParams & IdentityParams & Omit<ViewFields, 'traits'>;

/** What `group` takes: the group that a user belongs to, and its traits. */
export type GroupParams = CommonParams & IdentityParams & { groupId: string; traits?: Fields | undefined };

/** What `alias` takes: the id that a user has from now on, and the one before. */
export type AliasParams = CommonParams & { userId: string; previousId: string };

/** What `delete` takes: the user whom receivers are asked to delete. */
export type DeleteParams = Omit<CommonParams, 'messageId' | 'context'> & { userId: string };

/** The parameters of each type of call. */
export interface MessageParams {
  identify: IdentifyParams;
  track: TrackParams;
  page: PageParams;
  screen: ScreenParams;
  group: GroupParams;
  alias: AliasParams;
  delete: DeleteParams;
}
