#!/usr/bin/env node
import { outboxSql, USAGE } from './outbox/outbox-sql.js';

const [command, ...args] = process.argv.slice(2);
try {
  if (command === 'outbox-sql') process.stdout.write(outboxSql(args));
  else if (command === '--help') process.stdout.write(USAGE);
  else throw new Error(command === undefined ? 'A command is missing.' : `There is no command "${command}".`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 1;
}
