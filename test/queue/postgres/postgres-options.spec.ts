import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import type { AnalyticsConnection } from '../../../src/index.js';
import { deferred } from '../../support/deferred.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

/** Shorter than the time after which a connection counts as silent, in milliseconds. */
const QUERY_TIMEOUT = 500;
/** Shared with other specs. */
const { defaults } = pg;
const { query_timeout: original } = defaults;

describeWith('postgres', PostgresServer.installed, 'a `query_timeout` of `pg`', () => {
  const stage = new Stage();
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterEach(() => {
    defaults.query_timeout = original;
  });
  afterAll(() => server.dispose());

  async function deliverOverLostConnections(connectionOf: (url: string) => AnalyticsConnection) {
    const proxy = await stage.add(TcpProxy.start(server));
    const areLost = deferred();
    const receiver = await stage.receiver({
      answer: async (_, index) => {
        await areLost.promise;
        return index === 0 ? 503 : 200;
      },
    });
    const connection = connectionOf(proxy.through(await server.createDatabase()));
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    for (const event of ['One', 'Two']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    await receiver.received(2);
    proxy.swallowOpen();
    areLost.resolve();
    await receiver.received(3);
    // The question may be sent over a lost connection.
    await until(() =>
      app
        .settled()
        .then(() => true)
        .catch(() => undefined),
    );
    return { requests: receiver.requests.length, lines: app.log.analytics };
  }

  it.each([
    ['a Pool', (connectionString: string) => new pg.Pool({ connectionString, query_timeout: QUERY_TIMEOUT })],
    ['a URL', (url: string) => `${url}?query_timeout=${QUERY_TIMEOUT}`],
    [
      'all connections',
      (url: string) => {
        defaults.query_timeout = QUERY_TIMEOUT;
        return url;
      },
    ],
  ])('causes no second delivery when connections are lost: set for %s', async (_, connectionOf) => {
    const { requests, lines } = await deliverOverLostConnections(connectionOf);
    expect(requests).toBe(3);
    expect(lines).toContainEqual(expect.stringMatching(/does not answer \(no answer for \d+ s\)/));
  });
});
