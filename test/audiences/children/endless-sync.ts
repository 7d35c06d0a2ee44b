/** Closes while it syncs an audience whose members never end, and prints when it has closed. */
import type { TestConnection } from '../../support/describe-backend.js';
import { AudiencesOn } from '../audiences-on.js';

function isConnection(value: unknown): value is TestConnection {
  return typeof value === 'string' || (typeof value === 'object' && value !== null && 'embedded' in value);
}

async function* endless(): AsyncGenerator<string> {
  yield 'ann';
  await new Promise(() => undefined);
}

const connection: unknown = JSON.parse(process.argv[2] ?? '');
if (!isConnection(connection)) throw new Error('A connection is needed');
const on = await AudiencesOn.open(connection);
const { audiences } = on.live({ stepSize: 1, lockDuration: 3_000 });
await new Promise<void>((resolve) => {
  void audiences.sync('All', endless(), {
    onProgress: () => {
      resolve();
    },
  });
});
await on.close();
console.log('closed');
