import { createServer } from 'node:http';

// Serves ports with paths, each of which answers after its own delay. Paths with `told` report every arrival at once.
const origins = JSON.parse(process.argv[2]);
const received = {};

function answer(paths, request, response) {
  const at = process.hrtime.bigint();
  const { delay = 0, status = 200, told = false } = paths[request.url];
  received[request.url] = (received[request.url] ?? 0) + 1;
  if (told) process.send({ id: request.headers['webhook-id'], at: String(at) });
  request.resume();
  request.on('end', () => {
    response.statusCode = status;
    if (delay > 0) setTimeout(() => response.end(), delay);
    else response.end();
  });
}

// Ends with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
process.on('message', () => {
  process.send({ received });
});

const servers = origins.map((paths) =>
  createServer({ keepAliveTimeout: 60_000 }, (request, response) => answer(paths, request, response)),
);
await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))));
process.send({ ports: servers.map((server) => server.address().port) });
