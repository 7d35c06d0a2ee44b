import { type EventSchema, passSchema } from '../destinations/event-schema.js';
import { webhookBody } from '../destinations/webhooks/webhook-body.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import { serialize, type SerializedMessage } from '../messages/serialize.js';
import { isMeantFor, type Lane } from './lane.js';
import type { MessageBuffer } from './message-buffer.js';
import type { SourceUsage } from './source-usage.js';

/** A way, and what collects the messages that go it. */
export interface LaneBuffer {
  lane: Lane;
  buffer: MessageBuffer;
}

/** The ways of one message. */
export interface Route {
  /** Empty when no destination takes it. */
  buffers: readonly MessageBuffer[];
  serialized: SerializedMessage;
  /** Whether it goes nowhere because of its source's schema alone. */
  isFiltered: boolean;
}

export interface RoutesOptions {
  /** By the name of the source: which of its events are kept from which destinations. */
  schemas?: ReadonlyMap<string, EventSchema>;
  /** How a message is written for the destinations. @default as a webhook's body */
  body?: (message: AnalyticsMessage) => JsonObject;
}

/** Knows the ways that the messages of each source go, and counts what each has taken. */
export class Routes {
  private readonly lanes = new Map<string, LaneBuffer[]>();
  private readonly usages = new Map<string, SourceUsage>();

  constructor(
    lanes: readonly LaneBuffer[],
    private readonly options: RoutesOptions,
  ) {
    for (const one of lanes) {
      this.lanes.set(one.lane.source, [...(this.lanes.get(one.lane.source) ?? []), one]);
    }
  }

  /** Whether a message of a source may lead anywhere. */
  has(source: string): boolean {
    return this.lanes.has(source);
  }

  /** Whether messages go on to another program's API rather than to destinations of this one. */
  get forwards(): boolean {
    return [...this.lanes.values()].flat().some(({ lane }) => lane.destinationName === undefined);
  }

  /** @throws InvalidMessageError, MessageTooLargeError */
  of(source: string, message: AnalyticsMessage): Route {
    const lanes = this.lanes.get(source)?.filter(({ lane }) => isMeantFor(lane, message)) ?? [];
    const passed = passSchema(message, this.options.schemas?.get(source));
    const allowed = passed === undefined ? [] : lanes.filter(({ lane }) => isMeantFor(lane, passed));
    const { body = webhookBody } = this.options;
    return {
      buffers: allowed.map(({ buffer }) => buffer),
      serialized: serialize(body(passed ?? message)),
      isFiltered: lanes.length > 0 && allowed.length === 0,
    };
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    const usage = this.usages.get(source) ?? { received: 0, filtered: 0 };
    this.usages.set(source, usage);
    return usage;
  }

  flush(): void {
    for (const lanes of this.lanes.values()) for (const { buffer } of lanes) buffer.flush();
  }
}
