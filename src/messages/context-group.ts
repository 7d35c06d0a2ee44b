import { isGiven, unexpected } from './message-checks.js';
import type { AnalyticsMessage } from './message.types.js';
import { isJsonObject } from './value-kind.js';

/** Returns the group that a context names. Segment's clients name there the group that a call belongs to. */
export function groupIn(context: unknown): string | undefined {
  return isJsonObject(context) && typeof context.groupId === 'string' ? context.groupId : undefined;
}

export function groupOf({ context }: AnalyticsMessage): string | undefined {
  return groupIn(context);
}

/** @throws InvalidMessageError for a group that is not a string, which would name no tenant */
export function checkGroup({ context: { groupId } }: AnalyticsMessage): void {
  if (isGiven(groupId) && typeof groupId !== 'string')
    throw unexpected('context.groupId', 'a string', groupId);
}
