import { makeCalls } from './calls.mjs';
import { Floor, FloorOnRedis } from './floor.mjs';

export const OURS = 'nestjs-analytics';
export const PEERS = ['posthog-node', '@segment/analytics-node', '@rudderstack/rudder-sdk-node'];
export const FLOOR = 'floor';
export const FLOOR_ON_REDIS = 'floor on Redis';

const WARM_UP_ROUNDS = 50;
const WARM_UP_CALLS = 100;
/** Calls that each client makes before it is measured. */
export const WARM_UP = WARM_UP_ROUNDS * WARM_UP_CALLS;

/** The same for all clients, so that none has more batches to write than another. */
const FLUSH_AT = 20;

/** Opens a producer: an application that puts messages into the queue, and delivers none. */
async function openOurs({ redis }) {
  const { openApp } = await import('./app.mjs');
  const { AnalyticsService } = await import('nestjs-analytics');
  const app = await openApp({ connection: redis, worker: false, flushAt: FLUSH_AT });
  const analytics = app.get(AnalyticsService);
  return {
    track: (call) => analytics.track(call),
    flush: () => analytics.flush(),
    close: () => app.close(),
  };
}

async function openPosthog({ url }) {
  const { PostHog } = await import('posthog-node');
  const posthog = new PostHog('bench', {
    host: url,
    flushAt: FLUSH_AT,
    // By default, the oldest are dropped when more than 10,000 wait.
    maxQueueSize: Infinity,
    // Compression costs CPU time, and gains nothing on a single machine.
    disableCompression: true,
  });
  return {
    shape: ({ userId, ...rest }) => ({ distinctId: userId, ...rest }),
    track: (call) => posthog.capture(call),
    flush: () => posthog.flush(),
    close: () => posthog.shutdown(),
  };
}

async function openSegment({ url }) {
  const { Analytics } = await import('@segment/analytics-node');
  const analytics = new Analytics({
    writeKey: 'bench',
    host: url,
    flushAt: FLUSH_AT,
    // A burst is posted all at once. By default, a request is given up after 10 s and ten retries.
    httpRequestTimeout: 60_000,
    maxRetries: 100,
  });
  return {
    track: (call) => analytics.track(call),
    flush: () => analytics.flush(),
    close: () => analytics.closeAndFlush(),
  };
}

async function openRudderstack({ url }) {
  const { default: Rudderstack } = await import('@rudderstack/rudder-sdk-node');
  const analytics = new Rudderstack('bench', {
    dataPlaneUrl: url,
    flushAt: FLUSH_AT,
    // By default, calls are dropped while 20,000 wait.
    maxInternalQueueSize: Infinity,
    // Compression costs CPU time, and gains nothing on a single machine.
    gzip: false,
    // Without a handler, a failure ends the process. Lost events show in the count of arrivals.
    errorHandler: () => undefined,
  });
  let left = 0;
  const settle = () => {
    left--;
  };
  // The client's own flush sends one batch, and waits only for that one.
  const flush = async () => {
    while (left > 0) {
      await analytics.flush();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    track: (call) => {
      left++;
      analytics.track(call, settle);
    },
    flush,
    close: flush,
  };
}

async function openFloorOnRedis({ redis }) {
  const { Redis } = await import('ioredis');
  return new FloorOnRedis(new Redis(redis), FLUSH_AT);
}

const OPENERS = {
  [FLOOR]: () => new Floor(),
  [FLOOR_ON_REDIS]: openFloorOnRedis,
  [OURS]: openOurs,
  'posthog-node': openPosthog,
  '@segment/analytics-node': openSegment,
  '@rudderstack/rudder-sdk-node': openRudderstack,
};

/**
 * Opens a client by its name, and warms it up.
 *
 * @param addresses `redis` is where this module puts messages, `url` is where the peers post them
 * @returns `track(n)` makes the nth call, `flush()` resolves when everything tracked is queued or posted
 */
export async function openClient(name, addresses) {
  const client = await OPENERS[name](addresses);
  const call = makeCalls(client.shape);
  const track = (n) => client.track(call(n));
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    for (let n = 0; n < WARM_UP_CALLS; n++) track(n);
    await client.flush();
  }
  gc();
  return { track, flush: () => client.flush(), close: () => client.close() };
}
