import { thrownAt } from '../shared/thrown-at.js';

/** The application's function `destinations.tenant` threw, so that nobody knows whose event a message is. */
export class TenantThrew extends Error {
  constructor(cause: unknown) {
    super(`\`destinations.tenant\` threw ${thrownAt(cause)}`);
  }
}
