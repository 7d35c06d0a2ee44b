import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';

const [ports, delay] = process.argv.slice(2, 4).map(Number);
const pem = process.argv[4] === undefined ? undefined : readFileSync(process.argv[4]);
let received = 0;
let connections = 0;
let awaited = Infinity;

function answer(request, response) {
  request.resume();
  request.on('end', () => {
    if (delay > 0) setTimeout(() => response.end(), delay);
    else response.end();
    if (++received === awaited) tell();
  });
}

function tell() {
  process.send({ received, connections });
}

// Ends with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
process.on('message', (question) => {
  if (question.reset) {
    received = 0;
    connections = 0;
  }
  awaited = question.received ?? Infinity;
  if (received >= awaited || question.received === undefined) tell();
});

const createServer = () =>
  pem === undefined
    ? createHttpServer({ keepAliveTimeout: 60_000 }, answer)
    : createHttpsServer({ keepAliveTimeout: 60_000, key: pem, cert: pem }, answer);
const servers = Array.from({ length: ports }, createServer);
for (const server of servers) server.on('connection', () => connections++);
await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))));
process.send(servers.map((server) => server.address().port));
