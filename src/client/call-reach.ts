import type { MessageParams } from '../messages/message-params.types.js';
import type { MessageType } from '../messages/message.types.js';
import type { MessageFactory } from './message-factory.js';
import type { OutgoingMessages } from './outgoing-messages.js';

/** Tells whether destinations take calls before they are made. A call that none takes is dropped. */
export class CallReach {
  constructor(
    private readonly outgoing: OutgoingMessages,
    private readonly factory: MessageFactory,
  ) {}

  /** Whether any destination takes a call. Never rejects. */
  takes<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
  ): boolean | Promise<boolean> {
    const { message, tenant } = this.factory.ofJob(source, type, params);
    return this.outgoing.reaches(source, message, tenant);
  }

  /** Whether any destination may take such calls, whoever they are about. Never rejects. */
  mayTake<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
  ): boolean | Promise<boolean> {
    const takes = this.varies(source, type, params) || this.takes(source, type, params);
    if (typeof takes === 'boolean') return takes;
    // The destinations may have been made meanwhile.
    return takes.then((isTaken) => isTaken || this.varies(source, type, params));
  }

  /** Whether such calls about other users may have other destinations. */
  varies<T extends MessageType>(source: string, type: T, params: MessageParams[T]): boolean {
    const { message, tenant } = this.factory.ofJob(source, type, params);
    return this.outgoing.variesByMessage(source, message, tenant);
  }
}
