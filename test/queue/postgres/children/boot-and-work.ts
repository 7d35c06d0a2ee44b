/** Opens a queue on PostgreSQL with a worker, repeatedly or once, and adds jobs until the process is ended. */
import { createQueueBackend } from '../../../../src/queue/create-queue-backend.js';

const [url = '', mode = 'boot'] = process.argv.slice(2);
const silent = { warn: () => undefined, log: () => undefined };

let isTold = mode === 'boot';

/** Prints once that the process is at work. */
function told(): void {
  if (!isTold) console.log('begun');
  isTold = true;
}

async function round(until: () => boolean): Promise<void> {
  const backend = await createQueueBackend(
    { connection: { kind: 'postgres', postgres: url }, prefix: undefined },
    silent,
  );
  const queue = backend.createQueue(0, {});
  queue.on('error', () => undefined);
  const worker = backend.createWorker(0, () => Promise.resolve(), {
    look: (look) => look(),
    end: (isWanted, end) => end(isWanted),
    runRetryDelay: 1_000,
  });
  worker.on('error', () => undefined);
  do {
    const adding = queue.add('batch', { v: 0, batches: [] }).then(told, () => undefined);
    await Promise.race([adding, new Promise((resolve) => setTimeout(resolve, 200))]);
  } while (!until());
  void worker.close(true).catch(() => undefined);
  void queue.close().catch(() => undefined);
  await backend.close();
}

if (mode === 'boot') console.log('begun');
for (;;) await round(() => mode === 'boot');
