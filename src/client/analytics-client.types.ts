import type { LiveEvents } from '../live/live-events.js';
import type { MessageType } from '../messages/message.types.js';
import type { MessageCore } from './client-core.js';
import type { ClientCoreObserver, ClientCoreOptions, ClientCoreParts } from './client-core.types.js';
import type { OnDeletion } from './deletions.js';
import type { MessageFactoryOptions } from './message-factory.js';
import type { MessageFilterOptions } from './message-filter.js';
import type { MessageStore } from './message-store.js';

export interface AnalyticsClientOptions
  extends ClientCoreOptions, MessageFactoryOptions, MessageFilterOptions {
  /** Inspects the fields of a call after they were checked. */
  onCall?: ((type: MessageType, params: object) => void) | undefined;
  /** Called for every deletion that was taken, once per source. */
  onDeletion?: OnDeletion | undefined;
}

/** Reports what a call cannot report by throwing. */
export interface ClientObserver extends Pick<ClientCoreObserver, 'onAddFailed'> {
  /** Called when a message, or its copy for one destination, is not delivered for this reason. */
  onRefused(reason: string): void;
  /** Called when the client takes no more messages. */
  onClosed(): void;
}

/** Creates the core that takes a client's messages. */
export type CreateCore = (
  parts: ClientCoreParts,
  options: ClientCoreOptions,
  observer: ClientCoreObserver,
) => MessageCore;

/** Replaces everything behind the client, so that messages are recorded instead of delivered. */
export interface Recording {
  createCore: CreateCore;
  /** Takes the messages that are stored in transactions. */
  store: MessageStore;
}

export interface AnalyticsClientParts extends ClientCoreParts {
  observer: ClientObserver;
  /** @default a core that brings messages into the queue */
  createCore?: CreateCore | undefined;
  /** Where calls in a transaction are stored. @default nowhere: they are refused */
  store?: MessageStore | undefined;
  /** @default nobody sees the calls */
  live?: LiveEvents | undefined;
}
