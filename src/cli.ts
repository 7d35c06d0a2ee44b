#!/usr/bin/env node
import { outboxSql, USAGE } from './outbox/outbox-sql.js';

const [command, ...args] = process.argv.slice(2);
try {
  if (process.argv.slice(2).some(isHelp)) process.stdout.write(USAGE);
  else if (command === 'outbox-sql') process.stdout.write(outboxSql(args));
  else throw new Error(command === undefined ? 'A command is missing.' : `There is no command "${command}".`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 1;
}

/** Whether an argument asks for help. It may stand before or after a command, as in other programs. */
function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}
