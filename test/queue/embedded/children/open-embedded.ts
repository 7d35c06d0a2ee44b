/** Opens an embedded database, prints `open`, and holds it until the process is killed. */
import { openEmbeddedDatabase } from '../../../../src/queue/embedded/embedded-database.js';

const [dataDir = ''] = process.argv.slice(2);
await openEmbeddedDatabase({ dataDir });
console.log('open');
setInterval(() => undefined, 60_000);
