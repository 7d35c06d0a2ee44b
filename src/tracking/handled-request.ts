import type { ExecutionContext } from '@nestjs/common';
import type { JsonObject } from '../messages/message.types.js';
import type { AnalyticsRequest, RequestContext } from './request-context.types.js';
import { addressOf, fieldsOf } from './request-fields.js';
import { requestOf } from './request-source.js';

/** A request while it is handled, and what it adds to the context of messages. */
export class HandledRequest implements RequestContext {
  readonly type: string;
  readonly request: AnalyticsRequest | undefined;
  /** Read at once: a socket that has closed no longer tells it to what is tracked later. */
  private readonly ip: string | undefined;
  private known: JsonObject | undefined;

  constructor(readonly host: ExecutionContext) {
    this.type = host.getType<string>();
    this.request = requestOf(host);
    this.ip = this.request && addressOf(this.request);
  }

  /** What messages get under their own context. Read from the request by the first of them. */
  get fields(): JsonObject {
    this.known ??= this.readFields();
    return this.known;
  }

  private readFields(): JsonObject {
    if (this.request === undefined) return {};
    // A WebSocket's handshake says nothing about the page that the user is on.
    const fields = fieldsOf(this.request, this.type !== 'ws');
    return this.ip === undefined ? fields : { ip: this.ip, ...fields };
  }
}
