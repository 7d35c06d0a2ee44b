import { parseArgs } from 'node:util';
import {
  DEFAULT_OUTBOX_SCHEMA,
  DEFAULT_OUTBOX_TABLE,
  isOutboxName,
  OUTBOX_NAME,
} from '../options/resolve-outbox.js';
import { outboxTable } from './outbox-table.js';

export const USAGE = `Usage: nestjs-analytics outbox-sql [--schema NAME] [--table NAME]

Prints the SQL that creates the table of the outbox. Running it again is harmless.

  --schema NAME  schema of the table, as in \`outbox.schema\` (default: ${DEFAULT_OUTBOX_SCHEMA})
  --table NAME   name of the table, as in \`outbox.table\` (default: ${DEFAULT_OUTBOX_TABLE})
`;

/**
 * Returns the SQL for these command-line arguments.
 *
 * @throws Error for an unknown argument or a name that is not allowed
 */
export function outboxSql(args: string[]): string {
  const { values } = parseArgs({
    args,
    options: {
      schema: { type: 'string', default: DEFAULT_OUTBOX_SCHEMA },
      table: { type: 'string', default: DEFAULT_OUTBOX_TABLE },
    },
  });
  for (const [option, name] of Object.entries<string>(values)) {
    if (isOutboxName(name)) continue;
    throw new Error(`Expected --${option} to be ${OUTBOX_NAME}.`);
  }
  return outboxTable(values.schema, values.table).create;
}
