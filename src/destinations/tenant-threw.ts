import { thrownAt } from '../shared/thrown-at.js';

/** The application's function `destinations.tenant` threw, so the tenant of a message is not known. */
export class TenantThrew extends Error {
  constructor(override readonly cause: unknown) {
    super();
  }

  /** Made when it is read: formatting a stack is slow, and the tenant of a message is looked up several times. */
  override get message(): string {
    return `\`destinations.tenant\` threw ${thrownAt(this.cause)}`;
  }
}
