import { createBareClient } from './bare-client.mjs';

/** Requests on their way at once, each on a socket of its own: as many as this module has to one origin. */
const CONNECTIONS = 64;

// A process that only posts, as cheaply as undici can. It tells what it has cost until it is told to end.
const { urls, secret } = JSON.parse(process.argv[2]);
const client = createBareClient(urls, { connections: CONNECTIONS, secret });
let requests = [];
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
  if (message === 'post') await client.post(requests, CONNECTIONS);
  else requests = client.prepare(message.prepare);
  process.send('done');
});
process.send('ready');
