import { randomUUID } from 'node:crypto';
import { StartProblem } from './start-problem.js';

/** What the environment decides. */
export interface Settings {
  /** `PORT`, 3000 by default. */
  port: number;
  /** `QUEUE_URL`: `redis://…` or `postgres://…`; the embedded queue when it is not set. */
  queueUrl: string | undefined;
  /** `DATABASE_URL`: `postgres://…`, where orders are paid; in the memory of this process when it is not set. */
  databaseUrl: string | undefined;
  /** `WORKER=false`: this process only fills the queue at `QUEUE_URL`, and another one delivers. */
  worker: boolean;
  /** `SHARED_SECRET`; made up at start by default, since sender and receiver are one process here. */
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
  // Port 0, any that is free, is not for us: the webhooks have to know the address before it is taken.
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
