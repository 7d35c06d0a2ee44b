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
  /** Merged over `context`: what is known at the time of the call, such as the current request. */
  callContext?: () => JsonObject | undefined;
  /** By the name of the source: whose events its messages are, whatever they say. */
  sourceTenants?: ReadonlyMap<string, string> | undefined;
  /** Whether messages go to another tracking API, which counts what they get here as theirs. @default false */
  isForwarding?: boolean;
}

/** A message, and whose event it is, where the call or the source has said so. */
export interface CreatedMessage {
  message: AnalyticsMessage;
  tenant: string | undefined;
  /** What the current request has added: its sender must not make a call fail by it. */
  spareContext?: JsonObject | undefined;
}

/** A call after its checks. */
export interface PreparedMessage {
  messageId: string;
  /** `null` if it is not sent. */
  message: AnalyticsMessage | null;
  /** Whose event it is, where the call or the source has said so. */
  tenant: string | undefined;
  /** What is left out of its context where there is no room for it. */
  spareContext?: JsonObject | undefined;
}

/** Makes checked messages of calls, with the context and the tenant that they get here. */
export class MessageFactory {
  constructor(private readonly options: MessageFactoryOptions) {}

  /**
   * @param boundTo the tenant whose event it is. @default that of the source, else as the message says
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

  /** Leaves out the context of the current request, for a call about somebody else. @throws as `ofCall` */
  ofJob<T extends MessageType>(source: string, type: T, params: MessageParams[T]): CreatedMessage {
    return this.withTenant(source, createMessage(type, params, this.options.context));
  }

  /**
   * Takes the fields of a message that another program sent.
   *
   * @param context the one among the fields
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
   * The room of a received message. Its sender cannot know what its context gets here, so that is not counted
   * where this is the end of its way, and is left out if need be where the next API counts it.
   *
   * @param context the received one
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
      // The group says whose event it is, so that the next API must have it.
      return { maxBytes, spareContext: without(added, { groupId: true }) };
    }
    const groupId = this.tenantOf(source);
    if (groupId !== undefined) added.groupId = groupId;
    let bytes = 0;
    // With a comma each.
    for (const [key, value] of Object.entries(added))
      bytes += Buffer.byteLength(stringify({ [key]: value })) - 1;
    return { maxBytes: maxBytes + bytes };
  }

  /** Whose events those of a source are, whatever they say. */
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
    // Tells receivers whose event it is, as Segment's clients do. A deletion has no context.
    if (tenant !== undefined && message.type !== 'delete') message.context.groupId = tenant;
    return { message, tenant, spareContext };
  }
}

/** The fields of an object whose keys another one does not have. */
function without(fields: JsonObject, others: object): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !Object.hasOwn(others, key)));
}
