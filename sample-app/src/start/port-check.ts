import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartProblem } from './start-problem.js';

/**
 * Checks the port before the queue is opened. The queue may hold events of an earlier run, which would be delivered
 * to any other program that listens on this port.
 */
export async function assertPortIsFree(port: number, host: string): Promise<void> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
  } catch (error) {
    throw new StartProblem(explain(port, error), { cause: error });
  }
  probe.close();
  await once(probe, 'close');
}

function explain(port: number, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use, perhaps by this shop in another window. Choose another: PORT=${otherThan(port)} npm start`;
    case 'EACCES':
      return `You are not allowed to use port ${port}. Choose a port above 1023: PORT=3000 npm start`;
    default:
      return `Port ${port} cannot be used (${String(code ?? error)}). Choose another: PORT=${otherThan(port)} npm start`;
  }
}

function otherThan(port: number): number {
  return port < 65_535 ? port + 1 : 3_000;
}
