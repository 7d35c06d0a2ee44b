import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { headOf, RawConnection } from './raw-connection.js';
import { shareServer } from './shared-server.js';
import { type ApiAnswer, basic, PLATFORMS, type TrackingServer } from './tracking-server.js';

const TRACK = { type: 'track', userId: 'u1', event: 'Opened' };
const RATE = 10;
/** The largest body, in bytes. */
const LARGEST = 500 * 1_024;

describe.each(PLATFORMS)('bodies on %s that never arrive completely', (platform) => {
  const stage = new Stage();
  let server: TrackingServer;

  shareServer(
    {
      platform,
      analytics: {
        sources: ['few', 'many', 'given-up', 'flood'].map((name) => ({ name, writeKey: `wk_${name}` })),
        trackingApi: { rateLimit: RATE },
      },
    },
    (shared) => ({ server } = shared),
  );
  /** The clock stands still, so that no debt is paid off. */
  beforeEach(() => {
    const now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Begins a request that announces a body of 500 KB. */
  async function begin(writeKey: string, bytes: number): Promise<[RawConnection, IncomingMessage]> {
    const connection = await stage.add(RawConnection.open(server));
    const arrived = once(server.app.getHttpServer(), 'request') as Promise<[IncomingMessage]>;
    connection.socket.write(headOf('/v1/batch', LARGEST, writeKey) + 'x'.repeat(bytes));
    const [request] = await arrived;
    return [connection, request];
  }

  /** Begins requests that announce 500 KB, sends one byte of each, and then hangs up on all of them. */
  async function hangUp(writeKey: string, count: number): Promise<void> {
    const begun: [RawConnection, IncomingMessage][] = [];
    for (let n = 0; n < count; n++) begun.push(await begin(writeKey, 1));
    const closed = begun.map(([, request]) => new Promise((resolve) => request.once('close', resolve)));
    for (const [connection] of begun) await connection.close();
    await Promise.all(closed);
    await new Promise(setImmediate);
  }

  const send = (writeKey: string): Promise<ApiAnswer> => server.post('/v1/track', TRACK, basic(writeKey));

  it('count by the bytes that have arrived, not by those that were announced', async () => {
    await hangUp('wk_few', RATE / 2);
    expect(await send('wk_few')).toMatchObject({ status: 200 });
  });

  it('keep the write key out for no longer than one of them does, however many there are', async () => {
    await hangUp('wk_many', 3 * RATE);
    const refused = await send('wk_many');
    expect(refused).toMatchObject({ status: 429 });
    expect(refused.headers.get('retry-after')).toBe('1');
  });

  it('do not count if the server gave them up for lack of memory', async () => {
    const [refused, { socket }] = await begin('wk_given-up', LARGEST - 1);
    await until(() => socket.bytesRead >= LARGEST || undefined);
    for (let n = 0; n < 70; n++) await begin('wk_flood', LARGEST - 1);
    await refused.answered(1);
    expect(refused.text).toContain('TOO_MANY_BODIES');
    expect(await send('wk_given-up')).toMatchObject({ status: 200 });
  });
});
