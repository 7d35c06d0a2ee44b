import type { TrackedType } from './track-options.types.js';

/** `AnalyticsService` as the decorators call it: it checks what it is given, which here may be anything. */
export interface TrackingTarget {
  track(fields: object): unknown;
  identify(fields: object): unknown;
  page(fields: object): unknown;
  screen(fields: object): unknown;
  group(fields: object): unknown;
  alias(fields: object): unknown;
  /** The same, bound to another source. */
  source(name: string): TrackingTarget;
}

/** The fields of each type of call that an option of the same name gives, the identity aside. */
export const OPTION_FIELDS: Readonly<Record<TrackedType, readonly string[]>> = {
  track: ['event', 'properties', 'context', 'timestamp', 'integrations'],
  identify: ['traits', 'context', 'timestamp', 'integrations'],
  page: ['name', 'category', 'properties', 'context', 'timestamp', 'integrations'],
  screen: ['name', 'category', 'properties', 'context', 'timestamp', 'integrations'],
  group: ['groupId', 'traits', 'context', 'timestamp', 'integrations'],
  alias: ['context', 'timestamp', 'integrations'],
};
