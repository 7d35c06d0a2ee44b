import { isJsonObject } from '../messages/value-kind.js';

/** No database stores others in a job. */
const STORABLE = /^[^\0\p{Cs}]+$/u;

/** What a row says beside its message. */
export interface RowTerms {
  /** Whose event it is, where the call or its source has said so. */
  tenant: string | undefined;
  /** Of a deletion: whether it was made for all sources. */
  isOfAllSources: boolean;
  /** Of a deletion: whether it was made for all tenants, whosever message it is. Older versions do not say so. */
  isOfAllTenants: boolean;
  /** Ids of the destinations of the options that take it, as its writer found. Older versions write none. */
  meantFor: readonly string[] | undefined;
  /** Whether its destinations at run time are to be looked up. Older versions do not say so. */
  looksUp: boolean;
  /** By which its application knows it. Older versions write none. */
  marks: string[] | undefined;
}

/** Reads the terms of a row, which anyone with access to the table may have written. */
export function termsIn(stored: unknown): RowTerms {
  const fields = isJsonObject(stored) ? stored : {};
  const { tenant, isOfAllSources, isOfAllTenants, meantFor, looksUp, marks } = fields;
  const ids = textsIn(meantFor);
  return {
    tenant: typeof tenant === 'string' ? tenant : undefined,
    // To older versions, each deletion was one of all sources.
    isOfAllSources: isOfAllSources !== false,
    isOfAllTenants: isOfAllTenants === true,
    meantFor: ids && [...new Set(ids)],
    looksUp: looksUp === true,
    marks: textsIn(marks),
  };
}

function textsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isId);
}

/** Whether a value can be the id of a destination. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && STORABLE.test(value);
}
