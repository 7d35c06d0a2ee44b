/** Adds jobs to an embedded queue until it is killed, and prints the id of each acknowledged job. */
import { createPostgresBackend, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';

const [dataDir = ''] = process.argv.slice(2);
const connection = await openEmbeddedDatabase({ dataDir });
const { Queue } = withBackend(createPostgresBackend);
const queue = new Queue('jobs', { connection });
for (;;) {
  const job = await queue.add('job', { body: 'x'.repeat(500) });
  console.log(`added ${job.id ?? ''}`);
}
