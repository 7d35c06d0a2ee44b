/** Changes many audiences and prints how many lines of callers are in memory before, during and after that. */
import { queryObjects } from 'node:v8';
import { Mutex } from '../../../src/shared/mutex.js';
import type { TestConnection } from '../../support/describe-backend.js';
import { AudiencesOn } from '../audiences-on.js';

function isConnection(value: unknown): value is TestConnection {
  return typeof value === 'string' || (typeof value === 'object' && value !== null && 'embedded' in value);
}

const connection: unknown = JSON.parse(process.argv[2] ?? '');
if (!isConnection(connection)) throw new Error('A connection is needed');
const on = await AudiencesOn.open(connection);
const { audiences } = on.live();
const lines = (): number => queryObjects(Mutex, { format: 'count' });
const before = lines();
const names = Array.from({ length: 20 }, (_, index) => `audience ${index}`);
const changes = names.flatMap((name) => [audiences.add(name, 'ann'), audiences.add(name, 'bob')]);
const meanwhile = lines();
await Promise.all(changes);
console.log(`lines ${before} ${meanwhile} ${lines()}`);
await on.close();
