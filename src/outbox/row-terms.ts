import { isJsonObject } from '../messages/value-kind.js';
import { isDestinationId } from '../options/destination-id.js';

/** What a row holds beside its message. */
export interface RowTerms {
  /** Tenant of the event, if the call or its source names one. */
  tenant: string | undefined;
  /** For a deletion: whether it is for all sources. */
  isOfAllSources: boolean;
  /** For a deletion: whether it is for all tenants, whatever its message's tenant. Older versions do not write this. */
  isOfAllTenants: boolean;
  /** Ids of the destinations in the options that take the message, as its writer found. Older versions write none. */
  meantFor: readonly string[] | undefined;
  /** Whether destinations at run time have to be looked up. Older versions do not write this. */
  looksUp: boolean;
  /** Marks by which the row's application recognizes it. Older versions write none. */
  marks: string[] | undefined;
}

/** Reads the terms of a row, which anyone with access to the table may have written. */
export function termsIn(stored: unknown): RowTerms {
  const fields = isJsonObject(stored) ? stored : {};
  const { tenant, isOfAllSources, isOfAllTenants, meantFor, looksUp, marks } = fields;
  const ids = textsIn(meantFor);
  return {
    tenant: typeof tenant === 'string' ? tenant : undefined,
    // In older versions, each deletion was for all sources.
    isOfAllSources: isOfAllSources !== false,
    isOfAllTenants: isOfAllTenants === true,
    meantFor: ids && [...new Set(ids)],
    looksUp: looksUp === true,
    marks: textsIn(marks),
  };
}

function textsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isDestinationId);
}
