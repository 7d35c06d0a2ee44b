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

describe.each(PLATFORMS)('batches that would keep the process busy for seconds, on %s', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer({ platform, analytics: { writeKey: 'wk_web' } }, (shared) => ({ server, receiver } = shared));

  /** Milliseconds that a batch takes at least. */
  async function quickest(body: string): Promise<number> {
    const times: number[] = [];
    for (let sent = 0; sent < 3; sent++) {
      const start = performance.now();
      expect(await server.post('/v1/batch', body, HEADERS)).toMatchObject({ status: 200 });
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  }

  it.each(['context', 'integrations'])(
    'answers 400 to `%s` that no message can be sent with',
    async (field) => {
      const body = batchOf(2_000, `"${field}":{"deep":${nested(100_000)}}`);
      expect(await server.post('/v1/batch', body, HEADERS)).toMatchObject({
        status: 400,
        body: {
          code: 'INVALID_BODY',
          message: `Expected \`${field}\` to be serialisable, it is nested too deeply: send less of it.`,
        },
      });
      expect(receiver.requests).toEqual([]);
    },
  );

  it('reads a long `sentAt` once, not for each message', async () => {
    const count = 1_000;
    const usual = await quickest(batchOf(count, '"sentAt":"2026-11-21T09:30:00.123Z"'));
    const long = await quickest(batchOf(count, `"sentAt":"2026-11-21T09:30:00.${'1'.repeat(400_000)}x"`));
    // Reading it for each message takes fifty times as long.
    expect(long).toBeLessThan(4 * usual);
  });
});
