import { randomUUID } from 'node:crypto';
import { StartProblem } from './start-problem.js';

/** Settings from environment variables. */
export interface Settings {
  /** `PORT`, 3000 by default. */
  port: number;
  /** `QUEUE_URL`: `redis://…` or `postgres://…`; the embedded queue if it is not set. */
  queueUrl: string | undefined;
  /** `DATABASE_URL`: `postgres://…`, for paid orders; a database in the memory of this process if it is not set. */
  databaseUrl: string | undefined;
  /** `WORKER=false`: this process only fills the queue at `QUEUE_URL`, and another one delivers. */
  worker: boolean;
  /** `SHARED_SECRET`; by default random for each start, since sender and receiver are one process here. */
  sharedSecret: string;
}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    port: readPort(env.PORT ?? '3000'),
    queueUrl: env.QUEUE_URL,
    databaseUrl: env.DATABASE_URL,
    worker: readFlag('WORKER', env.WORKER ?? 'true'),
    sharedSecret: env.SHARED_SECRET ?? randomUUID(),
  };
}

function readPort(text: string): number {
  const port = Number(text);
  // Not 0 (any free port): the webhook's URL has to be known before the server listens.
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    throw new StartProblem(`PORT must be a number from 1 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
}

function readFlag(name: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') {
    throw new StartProblem(`${name} must be true or false, not ${JSON.stringify(text)}.`);
  }
  return text === 'true';
}
