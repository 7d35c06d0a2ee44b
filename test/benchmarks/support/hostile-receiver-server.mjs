import { createServer } from 'node:net';

/** Answers every request with 63 KB of small headers, and closes the connection. */
const ANSWER = `HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(12_600)}\r\n`;

// Never outlives the benchmark, however that ends.
process.on('disconnect', () => process.exit());
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end(ANSWER));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
