import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { ConsoleService } from '../../src/index.js';
import { ConsoleLinks } from '../../src/destinations-api/links/console-links.js';
import { LinkSigner } from '../../src/destinations-api/links/link-signer.js';
import {
  createRevocationStore,
  type RevocationStore,
} from '../../src/destinations-api/links/revocation-store.js';
import { authorize } from '../destinations-api/api-server.js';
import { type ApiAnswer, TrackingServer } from '../ingest/http/tracking-server.js';
import { deferred } from '../support/deferred.js';
import {
  type Backend,
  describeAnyServer,
  describeServersOrEmbedded,
  describeWith,
} from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import { Stage } from '../support/stage.js';

const ENDED = { code: 'LINK_ENDED' };
const TABLE = 'nestjs_analytics.revoked_links';

/** Returns the links of a settings page that makes another link each time it is opened. */
function linksOf(tenant: string, linkFor: (tenant: string, expiresIn: number) => string): string[] {
  return Array.from({ length: 100 }, (_, view) => linkFor(tenant, 60_000 + view));
}

/** Returns a process's links, and notes their look-ups. The first ones are answered when these promises resolve. */
async function openLinks(
  stage: Stage,
  { connection }: Backend,
  ...held: Promise<void>[]
): Promise<{ links: ConsoleLinks; lookUps: string[] }> {
  const { storage } = await stage.add(openBackend(connection));
  const store = createRevocationStore(storage);
  const lookUps: string[] = [];
  const noted: RevocationStore = {
    revoke: (...given) => store.revoke(...given),
    revokedAt: async (tenant) => {
      const count = lookUps.push(tenant);
      const revokedAt = await store.revokedAt(tenant);
      await held[count - 1];
      return revokedAt;
    },
  };
  return { links: new ConsoleLinks(new LinkSigner([randomBytes(32)]), noted), lookUps };
}

describeServersOrEmbedded('many links of a tenant', (backend) => {
  const stage = new Stage();

  it('are looked up once for all requests at once, and once more for those that come meanwhile', async () => {
    const { links, lookUps } = await openLinks(stage, backend);
    const ask = (tenant: string): Promise<string>[] =>
      linksOf(tenant, (...given) => links.create(...given)).flatMap((token) =>
        Array.from({ length: 10 }, () => links.tenantOf(token)),
      );
    const owners = await Promise.all([...ask('acme'), ...ask('globex')]);
    expect(new Set(owners.slice(0, 1_000))).toEqual(new Set(['acme']));
    expect(new Set(owners.slice(1_000))).toEqual(new Set(['globex']));
    for (const tenant of ['acme', 'globex']) {
      expect(lookUps.filter((asked) => asked === tenant).length).toBe(2);
    }
  });

  it('have ended for requests after they were revoked, even while an earlier look-up goes on', async () => {
    const held = deferred();
    const { links } = await openLinks(stage, backend, held.promise);
    const [first = '', ...others] = linksOf('acme', (...given) => links.create(...given));
    const before = links.tenantOf(first);
    await links.revoke('acme');
    const after = others.map((token) => expect(links.tenantOf(token)).rejects.toMatchObject(ENDED));
    held.resolve();
    expect(await before).toBe('acme');
    await Promise.all(after);
  });
});

describeAnyServer('links whose look-up is slow, or never answered', (backend) => {
  const stage = new Stage();
  const useFakeTimers = (): void => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
  };
  afterEach(() => {
    jest.useRealTimers();
  });

  it('work even if a request waits for one look-up to end and for the next one, each for less than five seconds', async () => {
    const [answered, answeredNext] = [deferred(), deferred()];
    const { links } = await openLinks(stage, backend, answered.promise, answeredNext.promise);
    const [first = '', second = ''] = linksOf('acme', (...given) => links.create(...given));
    useFakeTimers();
    const owners = [links.tenantOf(first), links.tenantOf(second)];
    await jest.advanceTimersByTimeAsync(3_000);
    answered.resolve();
    expect(await owners[0]).toBe('acme');
    await jest.advanceTimersByTimeAsync(3_000);
    answeredNext.resolve();
    expect(await owners[1]).toBe('acme');
  });

  it('are refused after five seconds each, and looked up anew after a minute', async () => {
    const { links, lookUps } = await openLinks(stage, backend, deferred().promise);
    const [first = '', second = '', third = ''] = linksOf('acme', (...given) => links.create(...given));
    useFakeTimers();
    const refused = (token: string): Promise<void> =>
      expect(links.tenantOf(token)).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    const unanswered = refused(first);
    await jest.advanceTimersByTimeAsync(4_000);
    const behind = refused(second);
    await jest.advanceTimersByTimeAsync(1_000);
    await unanswered;
    await jest.advanceTimersByTimeAsync(4_000);
    await behind;
    expect(lookUps).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(51_000);
    expect(await links.tenantOf(third)).toBe('acme');
  });
});

describeWith('postgres', PostgresServer.installed, 'a flood of requests by many links of a tenant', () => {
  const stage = new Stage();
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await PostgresServer.create();
  });
  afterAll(() => postgres.dispose());

  async function start(): Promise<{
    server: TrackingServer;
    other: PostgresSession;
    askAll: () => Promise<ApiAnswer[]>;
  }> {
    const connection = await postgres.createDatabase();
    const encryptionKey = randomBytes(32).toString('hex');
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          connection,
          trackingApi: false,
          destinations: { encryptionKey },
          console: { authorize },
        },
      }),
    );
    const console = server.app.get(ConsoleService);
    // Creates the table.
    await console.revokeLinks({ tenant: 'acme' });
    const tokens = linksOf('acme', (tenant, expiresIn) =>
      console.linkFor({ tenant, expiresIn }).replace(/^[^#]*#/, ''),
    );
    const askAll = (): Promise<ApiAnswer[]> =>
      Promise.all(
        [...tokens, ...tokens].map((token) =>
          server.send('/analytics/destinations', { headers: { 'x-analytics-link': token } }),
        ),
      );
    return { server, other: await stage.add(PostgresSession.open(connection)), askAll };
  }

  /** Resolves when `count` requests have arrived. */
  function requestsAt(server: TrackingServer, count: number): Promise<void> {
    let arrived = 0;
    return new Promise((resolve) => {
      server.app.getHttpServer().on('request', () => {
        if (++arrived === count) resolve();
      });
    });
  }

  const statusesOf = (answers: readonly ApiAnswer[]): number[] =>
    [...new Set(answers.map(({ status }) => status))].sort();

  it('takes one connection of the database, however long the database takes to answer', async () => {
    const { server, other, askAll } = await start();
    let answers: Promise<ApiAnswer[]> | undefined;
    await other.holding(`LOCK TABLE ${TABLE}`, async () => {
      const arrived = requestsAt(server, 200);
      answers = askAll();
      await arrived;
      await other.waiting(1);
      expect(await other.waitingNow()).toBe(1);
    });
    expect(statusesOf((await answers) ?? [])).toEqual([200, 429]);
  });

  it('takes only one connection even if it comes again after each refusal', async () => {
    const { other, askAll } = await start();
    await other.holding(`LOCK TABLE ${TABLE}`, async () => {
      expect(statusesOf(await askAll())).toContain(503);
      expect(statusesOf(await askAll())).toContain(503);
      expect(await other.waitingNow()).toBe(1);
    });
  });

  it('is looked up anew after a look-up has failed', async () => {
    const { other, askAll } = await start();
    await other.query(`ALTER TABLE ${TABLE} RENAME TO renamed`);
    expect(statusesOf(await askAll())).toEqual([503]);
    await other.query(`ALTER TABLE nestjs_analytics.renamed RENAME TO revoked_links`);
    expect(statusesOf(await askAll())).toContain(200);
  });
});
