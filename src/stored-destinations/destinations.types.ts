import type { JsonObject, MessageType } from '../messages/message.types.js';
import type { DestinationRecord } from '../options/destination-store.js';

type Fields = Pick<
  DestinationRecord,
  | 'name'
  | 'description'
  | 'headers'
  | 'sharedSecret'
  | 'standardWebhooks'
  | 'events'
  | 'types'
  | 'sources'
  | 'timeout'
  | 'retryWindow'
  | 'retryStatuses'
  | 'rateLimit'
  | 'metadata'
>;

/** A new destination. */
export interface NewDestination extends Fields {
  /** 1 to 5 absolute `http:` or `https:` URLs, without user name and password. */
  urls: string[];
  /** Tenant whose messages it gets; `undefined` is refused. @default the messages of all, with and without a tenant */
  tenant?: string;
  /** @default true */
  enabled?: boolean | undefined;
}

/** The fields of a destination to change. `undefined` leaves a field as it is; `null` sets its default. */
export type DestinationUpdate = { urls?: string[] | undefined } & {
  [Field in keyof Fields]?: Fields[Field] | null;
};

/** A destination as it is now, without its secrets: of the headers it has only the names. */
export interface DestinationDetails {
  id: string;
  tenant: string | undefined;
  name: string | undefined;
  description: string | undefined;
  /** Only the origins if the destination is configured in code; empty for a custom destination. */
  urls: string[];
  /** Names of the static headers; `undefined` if the secrets cannot be decrypted. */
  headers: string[] | undefined;
  /** How requests are signed; `undefined` if the secrets cannot be decrypted. */
  signatures: ('X-Signature' | 'webhook-signature')[] | undefined;
  /** `undefined`: all. */
  events: string[] | undefined;
  types: MessageType[] | undefined;
  sources: string[] | undefined;
  timeout: number | undefined;
  retryWindow: number | undefined;
  retryStatuses: (number | '5xx')[] | undefined;
  rateLimit: number | undefined;
  metadata: JsonObject | undefined;
  enabled: boolean;
  /** Whether it is configured in code (`webhooks`, `customDestinations`), so that no call can change it. */
  readOnly: boolean;
  /** Why it was disabled, if a reason was given. */
  disabledReason: string | undefined;
  /** In milliseconds since the epoch; 0 if the store does not know. */
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** A destination that was just created. */
export interface CreatedDestination extends DestinationDetails {
  /**
   * The Standard Webhooks secret that was generated, if none was given. It is shown only now: hand it to the
   * receiver.
   */
  secret: string | undefined;
}

/** Limits a call to what a tenant may see. A destination of another tenant counts as not found. */
export interface DestinationScope {
  /**
   * The tenant that asks. `undefined` is refused, since it mostly comes from somebody who has not signed in: leave the
   * field out if the application itself asks. @default all destinations
   */
  tenant?: string;
}

/** Options of `update`. */
export interface DestinationUpdateOptions extends DestinationScope {
  /** Refuses the change if somebody has changed the destination since this version. @default any version is changed */
  version?: number | undefined;
}

/** Options of `disable`. */
export interface DestinationDisableOptions extends DestinationScope {
  /** Becomes the `disabledReason` of the destination. */
  reason?: string | undefined;
}

/** Options of `rotateSecret`. */
export interface SecretRotationOptions extends DestinationScope {
  /** How long the old secret signs as well, in milliseconds. @default a day */
  overlap?: number | undefined;
}

/** Selects a page of destinations. */
export interface DestinationQuery extends DestinationScope {
  /** `cursor` of the page before. @default the first page */
  cursor?: string | undefined;
  /**
   * `false` selects only disabled destinations. A store of the application's own may return others too, which are left
   * out: a page may have fewer destinations than `limit`, or none, although there is a next page.
   *
   * @default disabled ones and others
   */
  enabled?: false | undefined;
  /** 1 to 1000. @default 100 */
  limit?: number | undefined;
}

/** Destinations in the order in which they were created. */
export interface DestinationPage {
  destinations: DestinationDetails[];
  /** Where the next page begins; `undefined` after the last one. */
  cursor: string | undefined;
}

/** A change that this process has made to a destination. */
export interface DestinationEvent {
  type: 'created' | 'updated' | 'deleted' | 'enabled' | 'disabled' | 'secret rotated';
  id: string;
  tenant: string | undefined;
}
