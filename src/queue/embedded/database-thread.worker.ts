/** Runs in the database's thread. Opens the database there, and answers the application's thread. */
import { parentPort } from 'node:worker_threads';
import type { PgQueryResult } from 'bullmq';
import type { DatabaseFiles } from './database-engine.js';
import { PGliteEngine } from './pglite-engine.js';
import { packError, type ThreadMessage, type ThreadRequest } from './thread-messages.js';

let engine: PGliteEngine | undefined;

parentPort?.on('message', (request: ThreadRequest) => {
  void answer(request);
});

async function answer(request: ThreadRequest): Promise<void> {
  const { id } = request;
  try {
    tell({ kind: 'done', id, result: await workOn(request) });
  } catch (error) {
    tell({ kind: 'failed', id, error: packError(error) });
  }
}

async function workOn(request: ThreadRequest): Promise<PgQueryResult<unknown> | undefined> {
  if (request.kind === 'open') await open(request.files);
  else if (request.kind === 'query') return engine?.query(request.text, request.params, request.isDurable);
  else await engine?.close();
  return undefined;
}

async function open(files: DatabaseFiles): Promise<void> {
  engine = await PGliteEngine.open(files);
  engine.onNotification((channel, payload) => {
    tell({ kind: 'notification', channel, payload });
  });
}

function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}
