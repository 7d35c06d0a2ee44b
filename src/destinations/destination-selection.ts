import type { Integrations } from '../messages/message.types.js';

/**
 * Whether a message is meant for a destination. All are, unless `All: false` leaves only those whose own
 * key says so; an own key decides before `All`. An options object says yes.
 *
 * @param destinationName compared with case
 */
export function isEnabledFor(integrations: Integrations, destinationName: string): boolean {
  // Own keys only: every object inherits a `constructor`, and a destination may be named so.
  const own = Object.hasOwn(integrations, destinationName) ? integrations[destinationName] : undefined;
  if (own !== undefined) return own !== false;
  return !(Object.hasOwn(integrations, 'All') && integrations.All === false);
}
