import { isGiven, unexpected } from './message-checks.js';
import type { AnalyticsMessage } from './message.types.js';
import { isJsonObject } from './value-kind.js';

/** The group that a context names: Segment's clients say there to whom a call belongs. */
export function groupIn(context: unknown): string | undefined {
  return isJsonObject(context) && typeof context.groupId === 'string' ? context.groupId : undefined;
}

/** The group of a message. */
export function groupOf({ context }: AnalyticsMessage): string | undefined {
  return groupIn(context);
}

/** @throws InvalidMessageError for a group that is no text, and so would be nobody's */
export function checkGroup({ context: { groupId } }: AnalyticsMessage): void {
  if (isGiven(groupId) && typeof groupId !== 'string')
    throw unexpected('context.groupId', 'a string', groupId);
}
