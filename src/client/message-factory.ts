import { randomUUID } from 'node:crypto';
import { checkMessage } from '../messages/check-message.js';
import { createMessage } from '../messages/create-message.js';
import { mergedFields } from '../messages/merged-fields.js';
import type { MessageParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, JsonObject, MessageType } from '../messages/message.types.js';
import { MAX_MESSAGE_BYTES, stringify } from '../messages/serialize.js';
import type { OutgoingTerms } from './outgoing-messages.js';

export interface MessageFactoryOptions {
  /** Merged under every message's context. */
  context: JsonObject;
  /** Returns what is known at the time of the call, such as the current request. It is merged over `context`. */
  callContext?: () => JsonObject | undefined;
  /** Tenants that sources are bound to, by the name of the source, whatever its messages say. */
  sourceTenants?: ReadonlyMap<string, string> | undefined;
  /** Whether messages go to another tracking API, whose size limit includes context added here. @default false */
  isForwarding?: boolean;
}

/** A message, and the tenant of the event if the call or the source names one. */
export interface CreatedMessage {
  message: AnalyticsMessage;
  tenant: string | undefined;
  /** Context that the current request added. The request's sender must not be able to make a call fail by it. */
  spareContext?: JsonObject | undefined;
}

/** A call after its checks. */
export interface PreparedMessage {
  messageId: string;
  /** `null` if it is not sent. */
  message: AnalyticsMessage | null;
  /** Tenant of the event, if the call or the source names one. */
  tenant: string | undefined;
  /** Part of the context that is left out if there is no room for it. */
  spareContext?: JsonObject | undefined;
}

/** Makes checked messages of calls, and adds the context and the tenant. */
export class MessageFactory {
  constructor(private readonly options: MessageFactoryOptions) {}

  /**
   * @param boundTo tenant of the event. @default that of the source, else as the message says
   * @throws InvalidMessageError
   */
  ofCall<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    boundTo?: string,
  ): CreatedMessage {
    const { context, callContext } = this.options;
    const known = callContext?.();
    const message = createMessage(type, params, known === undefined ? context : mergedFields(context, known));
    const own = 'context' in params ? params.context : undefined;
    return this.withTenant(source, message, boundTo, known && without(known, own ?? {}));
  }

  /** Makes a message without the context of the current request, for a call about somebody else. @throws as `ofCall` */
  ofJob<T extends MessageType>(source: string, type: T, params: MessageParams[T]): CreatedMessage {
    return this.withTenant(source, createMessage(type, params, this.options.context));
  }

  /**
   * Makes a message of the fields that another program sent.
   *
   * @param context the `context` among the fields
   * @throws as `ofCall`
   */
  received(source: string, fields: JsonObject, context: JsonObject): CreatedMessage {
    const message = checkMessage({
      ...fields,
      messageId: fields.messageId ?? randomUUID(),
      context: mergedFields(this.options.context, context),
    });
    return this.withTenant(source, message);
  }

  /**
   * Returns the size limit of a received message. Its sender cannot know what is added to the context here. If messages
   * are delivered here, the addition does not count. If they are forwarded, the next API counts the addition, so it is
   * left out if necessary.
   *
   * @param context the received context
   * @param uncountedBytes bytes of the message that no API counts
   */
  roomFor(
    source: string,
    context: JsonObject,
    uncountedBytes: number,
  ): Pick<OutgoingTerms, 'maxBytes' | 'spareContext'> {
    const maxBytes = MAX_MESSAGE_BYTES + uncountedBytes;
    const added = without(this.options.context, context);
    if (this.options.isForwarding === true) {
      // The group names the tenant of the event, so the next API must get it.
      return { maxBytes, spareContext: without(added, { groupId: true }) };
    }
    const groupId = this.tenantOf(source);
    if (groupId !== undefined) added.groupId = groupId;
    let bytes = 0;
    // Each field takes a comma as well.
    for (const [key, value] of Object.entries(added))
      bytes += Buffer.byteLength(stringify({ [key]: value })) - 1;
    return { maxBytes: maxBytes + bytes };
  }

  /** Returns the tenant that a source is bound to, whatever its messages say. */
  tenantOf(source: string): string | undefined {
    return this.options.sourceTenants?.get(source);
  }

  private withTenant(
    source: string,
    message: AnalyticsMessage,
    boundTo?: string,
    spareContext?: JsonObject,
  ): CreatedMessage {
    const tenant = boundTo ?? this.tenantOf(source);
    // Tells receivers the tenant of the event, as Segment's clients do. A deletion has no context.
    if (tenant !== undefined && message.type !== 'delete') message.context.groupId = tenant;
    return { message, tenant, spareContext };
  }
}

/** Returns the fields of an object whose keys are not in `others`. */
function without(fields: JsonObject, others: object): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !Object.hasOwn(others, key)));
}
