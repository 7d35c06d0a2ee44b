import { thrownAt } from '../shared/thrown-at.js';

/** The application's function `destinations.tenant` threw, so that nobody knows whose event a message is. */
export class TenantThrew extends Error {
  constructor(override readonly cause: unknown) {
    super();
  }

  /** Made when it is read: to format a stack takes long, and it is asked several times whose event a message is. */
  override get message(): string {
    return `\`destinations.tenant\` threw ${thrownAt(this.cause)}`;
  }
}
