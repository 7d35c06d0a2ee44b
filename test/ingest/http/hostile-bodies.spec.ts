import { gzipSync } from 'node:zlib';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { headOf, RawConnection } from './raw-connection.js';
import { shareServer } from './shared-server.js';
import { PLATFORMS, type TrackingServer } from './tracking-server.js';

const SENT = 30;
/** To parse this takes many times as long as to parse a batch of the same size. */
const COSTLY = gzipSync(`{"p":[${'{},'.repeat(165_000)}{}]}`);
const NO_JSON = gzipSync('x'.repeat(499 * 1_024));

@Controller('host')
class HostController {
  @Get()
  get(): string {
    return 'host';
  }
}

describe.each(PLATFORMS)('small requests on %s that inflate to half a megabyte', (platform) => {
  const stage = new Stage();
  let server: TrackingServer;
  let limited: TrackingServer;

  shareServer(
    { platform, host: { controllers: [HostController] }, analytics: { writeKey: 'wk_web' } },
    (shared) => ({ server } = shared),
  );
  shareServer(
    { platform, analytics: { writeKey: 'wk_web', trackingApi: { rateLimit: 1 } } },
    (shared) => ({ server: limited } = shared),
  );

  it.each([
    ['without a write key', undefined],
    ['with a write key', 'wk_web'],
  ])('leave time for the routes of the host if many of them come %s at once', async (_case, key) => {
    const hostile = await stage.add(RawConnection.open(server));
    const host = await stage.add(RawConnection.open(server));
    const request = Buffer.concat([Buffer.from(headOf('/v1/batch', COSTLY.length, key)), COSTLY]);
    hostile.socket.write(Buffer.concat(Array.from({ length: SENT }, () => request)));
    await hostile.answered(1);
    host.socket.write('GET /host HTTP/1.1\r\nHost: x\r\n\r\n');
    await host.answered(1);
    expect(hostile.statuses.length).toBeLessThan(SENT);
    expect(host.statuses).toEqual([200]);
    await hostile.answered(SENT);
  });

  it('are not inflated if the limit of their key is used up by the time that they have arrived', async () => {
    const begin = (): Promise<RawConnection> => stage.add(RawConnection.open(limited));
    const connections = await Promise.all(Array.from({ length: SENT }, begin));
    let begun = 0;
    const web = limited.app.getHttpServer();
    web.on('request', () => begun++);
    for (const { socket } of connections) {
      socket.write(headOf('/v1/batch', NO_JSON.length, 'wk_web'));
      socket.write(NO_JSON.subarray(0, -1));
    }
    await until(() => begun === SENT || undefined);
    await new Promise(setImmediate);
    for (const { socket } of connections) socket.write(NO_JSON.subarray(-1));
    await Promise.all(connections.map((connection) => connection.answered(1)));
    const statuses = connections.flatMap((connection) => connection.statuses);
    // One that is inflated turns out not to be JSON.
    expect(statuses.toSorted((one, other) => one - other)).toEqual([
      400,
      ...Array<number>(SENT - 1).fill(429),
    ]);
  });
});
