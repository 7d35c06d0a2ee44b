import { connect, createServer } from 'node:net';

// Stands in front of a Redis, and counts the commands that its clients send. Commands inside scripts do not count.
const { hostname, port } = new URL(process.argv[2]);
const LINE_FEED = 10;
let commands = {};

/** Reads one client's requests. Each request is an array of strings, the first of which is the command. */
function createCounter() {
  let line = '';
  let left = 0;
  let name;
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const part = chunk.subarray(at, at + left);
        at += part.length;
        left -= part.length;
        if (name !== undefined) name += part.toString('latin1');
        if (left > 0 || name === undefined) continue;
        const command = name.trim().toLowerCase();
        commands[command] = (commands[command] ?? 0) + 1;
        name = undefined;
        continue;
      }
      const end = chunk.indexOf(LINE_FEED, at);
      line += chunk.toString('latin1', at, end === -1 ? chunk.length : end);
      if (end === -1) return;
      at = end + 1;
      if (line.startsWith('*')) name = '';
      // A line break of two bytes follows the string.
      else left = Number(line.slice(1)) + 2;
      line = '';
    }
  };
}

const server = createServer((client) => {
  const redis = connect({ host: hostname, port: Number(port) });
  for (const socket of [client, redis]) socket.setNoDelay(true).on('error', () => undefined);
  client.on('data', createCounter());
  client.pipe(redis);
  redis.pipe(client);
  client.on('close', () => redis.destroy());
  redis.on('close', () => client.destroy());
});

process.on('disconnect', () => process.exit());
process.on('message', () => {
  process.send(commands);
  commands = {};
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
