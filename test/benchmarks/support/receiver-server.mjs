import { createServer } from 'node:http';

const [ports, delay] = process.argv.slice(2).map(Number);
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

// Never outlives the benchmark, however that ends.
process.on('disconnect', () => process.exit());
process.on('message', (question) => {
  if (question.reset) {
    received = 0;
    connections = 0;
  }
  awaited = question.received ?? Infinity;
  if (received >= awaited || question.received === undefined) tell();
});

const servers = Array.from({ length: ports }, () => createServer({ keepAliveTimeout: 60_000 }, answer));
for (const server of servers) server.on('connection', () => connections++);
await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))));
process.send(servers.map((server) => server.address().port));
