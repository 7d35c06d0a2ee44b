import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getQueueToken } from '@nestjs/bullmq';
import { ANALYTICS_QUEUE, AnalyticsService } from 'nestjs-analytics';
import { openApp } from './app.mjs';
import { pause } from './fresh-messages.mjs';
import { keepUp } from './postgres-upkeep.mjs';
import { startTimedReceiver } from './timed-receiver.mjs';
import { addWaiting } from './waiting-messages.mjs';
import { startWorker } from './workers.mjs';

const SHUTDOWN_TIMEOUT = 2_000;
/** Jobs that may wait for a worker in a queue that counts as sorted: these have come back from a worker. */
const SORTED = 50;
/** Milliseconds between two looks at the queue. */
const LOOK_AGAIN = 100;

/**
 * A receiver; destinations that lead to its paths, each with the name of its path and a source of the same name; and
 * the processes that deliver to them: this one, which also tracks, and others.
 */
export class DeliveryScene {
  workers = [];

  /**
   * @param connection a URL, or `undefined` for an embedded database of its own
   * @param processes number of processes that deliver
   * @param origins passed to `startTimedReceiver`
   */
  static async open({ connection, processes, origins, onArrival }) {
    const dataDir =
      connection === undefined ? await mkdtemp(join(tmpdir(), 'analytics-fairness-')) : undefined;
    const receiver = await startTimedReceiver(origins, onArrival);
    const scene = new DeliveryScene(receiver, processes, dataDir, {
      connection: connection ?? { embedded: { dataDir: join(dataDir, 'queue') } },
      sources: Object.keys(receiver.urls).map((path) => ({ name: nameOf(path), writeKey: path })),
      flushAt: 1,
      shutdownTimeout: SHUTDOWN_TIMEOUT,
      webhooks: Object.entries(receiver.urls).map(([path, url]) => ({
        id: nameOf(path),
        urls: [url],
        sources: [nameOf(path)],
        allowPrivateNetwork: true,
      })),
    });
    await scene.clear();
    return scene;
  }

  constructor(receiver, processes, dataDir, options) {
    this.receiver = receiver;
    this.processes = processes;
    this.dataDir = dataDir;
    this.options = options;
  }

  /** Fills the queue with messages, by destination, before anybody delivers from it. */
  async prepare(waiting) {
    await this.withApp(async (app) => {
      await queueOf(app).pause();
      for (const [destination, count] of Object.entries(waiting)) await addWaiting(app, destination, count);
    });
    await keepUp(this.options.connection);
  }

  /** Starts to deliver. */
  async start() {
    this.app = await openApp(this.options);
    await queueOf(this.app).resume();
    for (let count = 1; count < this.processes; count++) this.workers.push(await startWorker(this.options));
  }

  track(destination) {
    return this.app.get(AnalyticsService).source(destination).track({ userId: 'u1', event: 'Fresh' });
  }

  /** Resolves to the number of requests so far, by the name of the destination. */
  async received() {
    const counts = Object.entries(await this.receiver.received());
    return Object.fromEntries(counts.map(([path, count]) => [nameOf(path), count]));
  }

  /** Resolves when the processes have taken every job once. Most jobs have then gone back to wait for their turn. */
  async sorted() {
    for (;;) {
      const { waiting, prioritized } = await queueOf(this.app).getJobCounts('waiting', 'prioritized');
      if (waiting + prioritized < SORTED) return;
      await pause(LOOK_AGAIN);
    }
  }

  /** Stops everything, and leaves nothing behind in the queue or on the disk. */
  async close() {
    await Promise.all([this.app?.close(), ...this.workers.map((worker) => worker.stop())]);
    await this.clear();
    this.receiver.stop();
    if (this.dataDir !== undefined) await rm(this.dataDir, { recursive: true, force: true });
  }

  async clear() {
    await this.withApp((app) => queueOf(app).obliterate({ force: true }));
    await keepUp(this.options.connection);
  }

  async withApp(work) {
    // An embedded queue allows no process that only tracks: no other process could deliver from it.
    const app = await openApp({ ...this.options, worker: this.dataDir !== undefined });
    await work(app);
    await app.close();
  }
}

function queueOf(app) {
  return app.get(getQueueToken(ANALYTICS_QUEUE));
}

function nameOf(path) {
  return path.slice(1);
}
