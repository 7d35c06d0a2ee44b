import { isJsonObject } from '../messages/value-kind.js';
import type { AudienceDefinition } from './audience-store.js';

/** Reads a definition that was stored as JSON or as a row. */
export function parseDefinition(stored: unknown): AudienceDefinition {
  const value: unknown = typeof stored === 'string' ? JSON.parse(stored) : stored;
  const { trait, name, kind } = isJsonObject(value) ? value : {};
  if (typeof trait !== 'string' || typeof name !== 'string' || (kind !== 'audience' && kind !== 'trait')) {
    throw new Error('The store of the audiences holds a definition that this version cannot read');
  }
  return { trait, name, kind };
}
