import { OutboxTableError } from '../errors/outbox.errors.js';
import type { OutboxTable } from './outbox-table.js';

/** Privileges that a relay needs on the table of an outbox. */
export const RELAY_PRIVILEGES = ['SELECT', 'UPDATE', 'DELETE'] as const;

/** Returns the error for a user who lacks privileges on a table. `USAGE` refers to the table's schema. */
export function missingPrivileges(
  { name, quotedName, quotedSchema }: OutboxTable,
  privileges: readonly string[],
  options?: ErrorOptions,
): OutboxTableError {
  const onTable = privileges.filter((privilege) => privilege !== 'USAGE');
  const grants: string[] = [];
  if (onTable.length > 0) grants.push(`\`GRANT ${onTable.join(', ')} ON ${quotedName} TO …\``);
  if (onTable.length < privileges.length) grants.push(`\`GRANT USAGE ON SCHEMA ${quotedSchema} TO …\``);
  return new OutboxTableError(name, `cannot be used: this user needs ${privileges.join(' and ')}`, {
    ...options,
    whatToDo: `Run ${grants.join(' and ')} with the name of the user.`,
  });
}
