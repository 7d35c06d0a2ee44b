import { OutboxTableError } from '../errors/outbox.errors.js';
import type { OutboxTable } from './outbox-table.js';

/** What a relay does with the rows of an outbox. */
export const RELAY_PRIVILEGES = ['SELECT', 'UPDATE', 'DELETE'] as const;

/** The user may not do with a table what it has to. USAGE is meant of the table's schema. */
export function missingPrivileges(
  { name, quotedName, quotedSchema }: OutboxTable,
  privileges: readonly string[],
  options?: ErrorOptions,
): OutboxTableError {
  const onTable = privileges.filter((privilege) => privilege !== 'USAGE');
  const grants: string[] = [];
  if (onTable.length > 0) grants.push(`\`GRANT ${onTable.join(', ')} ON ${quotedName} TO …\``);
  if (onTable.length < privileges.length) grants.push(`\`GRANT USAGE ON SCHEMA ${quotedSchema} TO …\``);
  return new OutboxTableError(name, `may not be used by this user, who needs ${privileges.join(' and ')}`, {
    ...options,
    whatToDo: `Run ${grants.join(' and ')} with the name of the user.`,
  });
}
