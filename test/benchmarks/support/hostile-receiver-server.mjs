import { createServer } from 'node:net';

/** The answer to every request: 63 KB of small headers. Then the connection is closed. */
const ANSWER = `HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(12_600)}\r\n`;

// Ends with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end(ANSWER));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
