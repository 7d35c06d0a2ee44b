import { describe, expect, it } from '@jest/globals';
import type { Receiver } from '../../support/receiver.js';
import { shareServer } from './shared-server.js';
import { basic, PLATFORMS, type TrackingServer } from './tracking-server.js';

const HEADERS = basic('wk_web');
const TRACK = '{"type":"track","userId":"u1","event":"Opened","timestamp":"2026-11-21T09:30:00.123Z"}';

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

function batchOf(count: number, shared: string): string {
  return `{${shared},"batch":[${Array<string>(count).fill(TRACK).join()}]}`;
}

/** Resolves to the shortest time in milliseconds that the batch takes in three attempts. */
async function quickest(server: TrackingServer, body: string): Promise<number> {
  const times: number[] = [];
  for (let sent = 0; sent < 3; sent++) {
    const start = performance.now();
    expect(await server.post('/v1/batch', body, HEADERS)).toMatchObject({ status: 200 });
    times.push(performance.now() - start);
  }
  return Math.min(...times);
}

describe.each(PLATFORMS)('the tracking API on %s, given costly batches', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer({ platform, analytics: { writeKey: 'wk_web' } }, (shared) => ({ server, receiver } = shared));

  it.each(['context', 'integrations'])(
    'answers 400 to a `%s` with which no message can be sent',
    async (field) => {
      const body = batchOf(2_000, `"${field}":{"deep":${nested(100_000)}}`);
      expect(await server.post('/v1/batch', body, HEADERS)).toMatchObject({
        status: 400,
        body: {
          code: 'INVALID_BODY',
          message: `Expected \`${field}\` to be serialisable, but it is nested too deeply: send less of it.`,
        },
      });
      expect(receiver.requests).toEqual([]);
    },
  );

  it('reads a long `sentAt` once, not for each message', async () => {
    const count = 1_000;
    const usual = await quickest(server, batchOf(count, '"sentAt":"2026-11-21T09:30:00.123Z"'));
    const long = await quickest(
      server,
      batchOf(count, `"sentAt":"2026-11-21T09:30:00.${'1'.repeat(400_000)}x"`),
    );
    // Reading `sentAt` for each message would take fifty times as long.
    expect(long).toBeLessThan(4 * usual);
  });
});

describe('a message with as many keys of `integrations` as fit into a request', () => {
  const servers: TrackingServer[] = [];

  for (const count of [1, 3_000]) {
    const customDestinations = Array.from({ length: count }, (_, n) => ({
      id: `Lake ${n}`,
      deliver: () => [],
    }));
    shareServer(
      { platform: 'Express', analytics: { writeKey: 'wk_web', customDestinations } },
      ({ server }) => servers.push(server),
    );
  }

  it('takes no longer if there are many destinations that may be meant', async () => {
    const keys = Array.from({ length: 40_000 }, (_, n) => `"k${n.toString(36)}":true`).join();
    const body = `{"batch":[{${TRACK.slice(1, -1)},"integrations":{"All":false,${keys}}}]}`;
    const times: number[] = [];
    for (const server of servers) times.push(await quickest(server, body));
    const [few = 0, many = Infinity] = times;
    // Comparing each key with each destination would take ten times as long.
    expect(many).toBeLessThan(4 * few);
  });
});
