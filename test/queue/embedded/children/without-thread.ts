/** Opens an embedded queue whose thread has no file to run, as in a bundle, and prints the results. */
import { register } from 'node:module';
import { createPostgresBackend, withBackend } from 'bullmq';

const HOOK = `export async function load(url, context, next) {
  if (!url.endsWith('/built-files.js')) return next(url, context);
  const source = "export const builtFile = (name) => '/nowhere/' + name; export const entryOf = () => import.meta.filename;";
  return { format: 'module', shortCircuit: true, source };
}`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

const { openEmbeddedDatabase } = await import('../../../../src/queue/embedded/embedded-database.js');
const { Queue } = withBackend(createPostgresBackend);
const pool = await openEmbeddedDatabase({
  dataDir: 'memory://',
  onWarning: ({ code, message }) => {
    console.log(`warned ${code} ${message}`);
  },
});
const queue = new Queue('jobs', { connection: pool });
await queue.add('job', {});
console.log(`has ${await queue.count()}`);
await pool.end();
