import type { DestinationRecord } from '../options/destination-store.js';

/** Most names in a line of the log. */
const MAX_NAMES = 5;

/** One destination, or all of a tenant. A tenant of `undefined`: all destinations, with and without a tenant. */
export type KeptFor = { id: string } | { tenant: string | undefined };

export function keyOf(destinations: KeptFor): string {
  return JSON.stringify(destinations);
}

/** Names destinations in words, for the log. */
export function namesOf(destinations: readonly KeptFor[]): string {
  const names = destinations.slice(0, MAX_NAMES).map((one) => {
    if ('id' in one) return `the destination "${one.id}"`;
    return one.tenant === undefined ? 'all destinations' : `destinations of the tenant "${one.tenant}"`;
  });
  const more = destinations.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** Returns the ids of these destinations, or `undefined` if some are only given by their tenant. */
export function idsOf(destinations: readonly KeptFor[]): ReadonlySet<string> | undefined {
  const ids = new Set<string>();
  for (const one of destinations) {
    if (!('id' in one)) return undefined;
    ids.add(one.id);
  }
  return ids;
}

export function isAmong({ id, tenant }: DestinationRecord, destinations: readonly KeptFor[]): boolean {
  return destinations.some((one) => {
    if ('id' in one) return one.id === id;
    // A record in the application's own store may omit its tenant.
    return one.tenant === undefined || tenant === undefined || one.tenant === tenant;
  });
}
