import { thrownAt } from '../shared/thrown-at.js';

/** The application's function `destinations.tenant` threw, so it is not known which tenant's event a message is. */
export class TenantThrew extends Error {
  constructor(override readonly cause: unknown) {
    super();
  }

  /** Made when it is read: formatting a stack is slow, and the tenant of a message is asked for several times. */
  override get message(): string {
    return `\`destinations.tenant\` threw ${thrownAt(this.cause)}`;
  }
}
