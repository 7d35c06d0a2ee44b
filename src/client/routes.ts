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
  lanes: readonly LaneBuffer[];
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

const NO_LANES: readonly LaneBuffer[] = [];

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
    const { body = webhookBody, schemas } = this.options;
    const passed = passSchema(message, schemas?.get(source));
    const lanes = passed === undefined ? NO_LANES : this.lanesOf(source, passed);
    return {
      lanes,
      serialized: serialize(body(passed ?? message)),
      isFiltered: lanes.length === 0 && passed !== message && this.lanesOf(source, message).length > 0,
    };
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    let usage = this.usages.get(source);
    if (usage === undefined) this.usages.set(source, (usage = { received: 0, filtered: 0 }));
    return usage;
  }

  private lanesOf(source: string, message: AnalyticsMessage): readonly LaneBuffer[] {
    const lanes = this.lanes.get(source) ?? NO_LANES;
    const isMeant = ({ lane }: LaneBuffer): boolean => isMeantFor(lane, message);
    // Nearly always all of them: no new list for that.
    return lanes.every(isMeant) ? lanes : lanes.filter(isMeant);
  }

  flush(): void {
    for (const lanes of this.lanes.values()) for (const { buffer } of lanes) buffer.flush();
  }
}
