/** Opens an embedded database, says so, and holds it until it is killed. */
import { openEmbeddedDatabase } from '../../../../src/queue/embedded/embedded-database.js';

const [dataDir = ''] = process.argv.slice(2);
await openEmbeddedDatabase({ dataDir });
console.log('open');
setInterval(() => undefined, 60_000);
