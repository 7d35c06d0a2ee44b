import { createBareClient } from './bare-client.mjs';

/** Requests in flight at once, each on a socket of its own: as many as this module opens to one origin. */
const CONNECTIONS = 64;

// Only posts, as cheaply as undici can. Reports its CPU time whenever it is asked, until it is told to end.
const { urls, secret } = JSON.parse(process.argv[2]);
const client = createBareClient(urls, { connections: CONNECTIONS, secret });
let requests = [];
let posted = 0;
process.on('disconnect', () => process.exit());
process.on('message', async (message) => {
  if (message === 'close') {
    await client.close();
    process.disconnect();
    return;
  }
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send(user + system);
    return;
  }
  if (message.post !== undefined) {
    const next = requests.slice(posted, (posted += message.post));
    await client.post(next, Math.min(next.length, CONNECTIONS));
    return;
  }
  requests = client.prepare(message.prepare);
  posted = 0;
  process.send('done');
});
process.send('ready');
