import { randomUUID } from 'node:crypto';
import type { StoredDestination } from '../../options/destination-store.js';
import type { DestinationChange } from '../destination-feed.js';

/** Parses a record that a store wrote. */
export function parseDestination(json: string): StoredDestination {
  // Only the store writes these texts, and every field is checked before it is written.
  return JSON.parse(json) as StoredDestination;
}

/** Returns a change as a text that no other has, so that a reader can tell whether the database still has it. */
export function changeText({ tenant, id }: { tenant?: string | undefined; id?: string | undefined }): string {
  return JSON.stringify([tenant ?? null, id ?? null, randomUUID()]);
}

export function parseChange(text: string): DestinationChange {
  const parts: unknown = JSON.parse(text);
  const [tenant, id] = (Array.isArray(parts) ? parts : []).map((part: unknown) =>
    typeof part === 'string' ? part : undefined,
  );
  return { tenant, id };
}
