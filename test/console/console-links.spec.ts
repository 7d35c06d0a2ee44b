import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ConsoleLinkOptions, ConsoleService, DestinationsService } from '../../src/index.js';
import { ConsoleLinks } from '../../src/destinations-api/links/console-links.js';
import { LinkSigner } from '../../src/destinations-api/links/link-signer.js';
import { createRevocationStore } from '../../src/destinations-api/links/revocation-store.js';
import { authorize } from '../destinations-api/api-server.js';
import { type ApiAnswer, TrackingServer } from '../ingest/http/tracking-server.js';
import type { AppOptions } from '../support/analytics-app.js';
import { Browser } from '../support/browser.js';
import {
  describeAnyServer,
  describeRedis,
  describeServersOrEmbedded,
  describeWith,
  type TestConnection,
} from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { SettingsPages } from './settings-pages.js';
import { untilTrue } from './until-true.js';

const HEADER = 'x-analytics-link';
const LINK = { tenant: 'acme', expiresIn: 60_000 };
const ENDED = { status: 401, body: { error: { code: 'LINK_ENDED' } } };
const key = (): Buffer => randomBytes(32);

const tokenOf = (path: string): string => path.slice(path.indexOf('#') + 1);

function startOn(connection: TestConnection, options: AppOptions = {}): Promise<TrackingServer> {
  return TrackingServer.start({
    platform: 'Express',
    analytics: {
      connection,
      trackingApi: false,
      destinations: { encryptionKey: key().toString('hex') },
      console: { authorize, frameAncestors: ['self', 'https://app.example'] },
      ...options,
    },
  });
}

function ask(server: TrackingServer, token: string): Promise<ApiAnswer> {
  return server.send('/analytics/destinations', { headers: { [HEADER]: token } });
}

describeServersOrEmbedded('a link to the console', (backend) => {
  const stage = new Stage();

  it('shows what its tenant may see, and nothing of other tenants, until it is revoked', async () => {
    const server = await stage.add(startOn(backend.connection));
    const console = server.app.get(ConsoleService);
    const path = console.linkFor(LINK);
    expect(path).toMatch(/^\/analytics\/link#[\w.-]+$/);
    const page = await server.send(path, {});
    expect(page.headers.get('content-security-policy')).toContain(
      "frame-ancestors 'self' https://app.example",
    );
    expect(page.body).toContain('data-link');
    expect(page.body).not.toContain('data-operator');

    const send = (token: string, method = 'GET', below = '', body?: object): Promise<ApiAnswer> =>
      server.send(`/analytics/destinations${below}`, {
        method,
        headers: { [HEADER]: token, 'x-analytics-console': '1', 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    const token = tokenOf(path);
    const created = await send(token, 'POST', '', { urls: ['https://acme.example'] });
    expect({ ...created, errors: server.log.errors }).toMatchObject({
      status: 201,
      body: { tenant: 'acme' },
      errors: [],
    });
    const { id } = created.body as { id: string };
    expect(server.log.analytics).toContain(
      `log: Audit: the tenant "acme" added the destination "${id}", through a link to the console.`,
    );
    const other = tokenOf(console.linkFor({ ...LINK, tenant: 'other' }));
    expect(await send(other)).toMatchObject({ body: { destinations: [] } });
    expect((await send(other, 'DELETE', `/${id}`)).status).toBe(404);
    expect((await send(token, 'GET', '?tenant=other')).status).toBe(422);
    expect(await send(`${token}x`)).toMatchObject(ENDED);

    await console.revokeLinks({ tenant: 'acme' });
    expect(await send(token)).toMatchObject(ENDED);
    expect((await send(other)).status).toBe(200);
  });

  it('stays revoked when a process whose clock is behind revokes as well', async () => {
    const database = await stage.add(openBackend(backend.connection));
    const store = createRevocationStore(database.storage);
    const signer = new LinkSigner([key()]);
    const processAt = (now: number): ConsoleLinks => new ConsoleLinks(signer, store, () => now++);
    const token = processAt(5_000).create('acme', 60_000);
    await processAt(6_000).revoke('acme');
    await processAt(4_000).revoke('acme');
    await expect(processAt(7_000).tenantOf(token)).rejects.toMatchObject({ code: 'LINK_ENDED' });
  });
});

describeAnyServer('a link to the console', (backend) => {
  const stage = new Stage();

  it('works if it is made right after the earlier links were revoked', async () => {
    const server = await stage.add(startOn(backend.connection));
    const console = server.app.get(ConsoleService);
    const links: string[] = [];
    for (let n = 0; n < 40; n++) {
      const tenant = `tenant-${n}`;
      await console.revokeLinks({ tenant });
      links.push(console.linkFor({ tenant }));
    }
    const answers = await Promise.all(links.map((link) => ask(server, tokenOf(link))));
    expect(answers.map(({ status }) => status)).toEqual(links.map(() => 200));
  });

  it('opens only the console of its own application if others with the same key have another prefix', async () => {
    const destinations = { encryptionKey: key().toString('hex') };
    const servers = await Promise.all(
      ['shop', 'blog', undefined].map((prefix) =>
        stage.add(startOn(backend.connection, { destinations, prefix })),
      ),
    );
    for (const own of servers) {
      const token = tokenOf(own.app.get(ConsoleService).linkFor(LINK));
      const answers = await Promise.all(servers.map((server) => ask(server, token)));
      expect(answers.map(({ status }) => status)).toEqual(servers.map((one) => (one === own ? 200 : 401)));
    }
  });
});

describeWith('postgres', PostgresServer.installed, 'a link to the console that was revoked', () => {
  const stage = new Stage();
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await PostgresServer.create();
  });
  afterAll(() => postgres.dispose());

  it('does not work again when the table of revoked links was removed', async () => {
    const server = await stage.add(startOn(postgres.url()));
    const other = await stage.add(PostgresSession.open(postgres.url()));
    const console = server.app.get(ConsoleService);
    const path = console.linkFor(LINK);
    await console.revokeLinks({ tenant: LINK.tenant });
    await other.query('DROP TABLE nestjs_analytics.revoked_links');
    expect(await ask(server, tokenOf(path))).toMatchObject({ status: 503 });
  });
});

describeRedis('a flood of requests with links to the console', () => {
  const stage = new Stage();
  /** A Node server keeps 511 connections waiting. Further ones may be reset if the machine is slow. */
  const FLOOD = 250;
  /** Requests that are admitted at once. */
  const BURST = 100;
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.create({ appendOnly: true });
  });
  afterAll(() => redis.dispose());

  it('causes few look-ups in the database, and with a revoked link takes nothing from its tenant', async () => {
    const server = await stage.add(startOn(redis.url()));
    const console = server.app.get(ConsoleService);
    const admin = new Redis(redis.url());
    const lookUps = async (): Promise<number> =>
      Number(/cmdstat_zscore:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
    // The text of the token is different each time.
    const flood = async (token: string): Promise<ApiAnswer[]> => {
      // As if all came at once, however busy the machine is.
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      const asked = Array.from({ length: FLOOD }, (_, index) => ask(server, `${token}.${index}`));
      return Promise.all(asked).finally(() => {
        clock.mockRestore();
      });
    };
    const statuses = (answers: ApiAnswer[]): number[] =>
      [...new Set(answers.map(({ status }) => status))].sort();
    // Hardly more are looked up than are admitted.
    const most = BURST + FLOOD / 10;

    const valid = await flood(tokenOf(console.linkFor(LINK)));
    expect(statuses(valid)).toEqual([200, 429]);
    const before = await lookUps();
    expect(before).toBeLessThan(most);

    const revoked = tokenOf(console.linkFor({ ...LINK, tenant: 'other' }));
    await console.revokeLinks({ tenant: 'other' });
    const refused = await flood(revoked);
    expect(statuses(refused)).toEqual([401, 429]);
    expect((await lookUps()) - before).toBeLessThan(most);
    expect(await ask(server, tokenOf(console.linkFor({ ...LINK, tenant: 'other' })))).toMatchObject({
      status: 200,
    });
    await admin.quit();
  });
});

describeWith('chromium', Browser.binary !== undefined, 'a link to the console in a frame', () => {
  const settings = new SettingsPages();
  let origins: { named: string; unnamed: string };
  beforeAll(async () => {
    origins = await settings.start();
  });
  afterAll(() => settings.close());
  const visit = new ConsoleVisit(
    (connection) =>
      ConsoleApp.start(connection, {
        analytics: () => ({ console: { authorize, frameAncestors: [origins.named] } }),
      }),
    'nobody',
  );

  it('is shown by the page of an application that may show it, and by no other', async () => {
    const { visitor, app } = visit;
    const link = app.server.app.get(ConsoleService).linkFor({ tenant: 'acme' });
    settings.src = `${app.server.url}${link}`;
    const textIn = async (page: string): Promise<string> => {
      await visitor.page.goto(page);
      const frame = await visitor.page.waitForFrame((one) => one !== visitor.page.mainFrame());
      return until(async () => {
        const text = String(await frame.evaluate('document.body.innerText'));
        return text === '' || text.includes('Loading') ? undefined : text;
      });
    };
    expect(await textIn(origins.named)).toContain('There are no destinations yet. Add one');
    expect(await textIn(origins.unnamed)).toContain('refused to connect');
  });

  it('asks before it makes a new secret, even in a frame in which the browser shows no dialogs', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const urls = [app.receiver.url()];
    const { id } = await app.server.app.get(DestinationsService).create({ tenant: 'initech', urls });
    await page.goto(origins.named);
    const src = `${app.server.url}${app.server.app.get(ConsoleService).linkFor({ tenant: 'initech' })}`;
    // Without `allow-modals`, the browser shows no dialogs.
    const sandbox = 'allow-scripts allow-same-origin';
    await page.evaluate(
      `document.body.innerHTML = '<iframe width="800" height="600" sandbox="${sandbox}" src="${src}"></iframe>'`,
    );
    const frame = await page.waitForFrame((one) => one.url().endsWith('/link#/'));
    await frame.evaluate(`location.hash = '#/destinations/${id}'`);
    await frame.locator('::-p-aria(Rotate the secret)').click();
    await frame.locator('::-p-text(This is the signing secret.)').wait();
    expect(visitor.questions).toEqual(['Create a new secret? The old one signs as well for one day.']);
  });

  it('tells a tab that was opened from its own tab how to go on', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const urls = [app.receiver.url()];
    await app.server.app.get(DestinationsService).create({ tenant: 'umbrella', urls });
    const link = `${app.server.url}${app.server.app.get(ConsoleService).linkFor({ tenant: 'umbrella' })}`;
    await page.goto(link);
    await page.locator('a[href^="#/destinations/"]').click({ button: 'middle' });
    const target = await page.browser().waitForTarget((one) => one.url().includes('/link#/destinations/'));
    const other = await target.asPage();
    await other.bringToFront();
    const reads = (text: string): Promise<void> =>
      untilTrue(other, `document.body.innerText.includes(${JSON.stringify(text)})`);
    await reads('Your link is known only to the tab in which you opened it.');
    await other.goto(link);
    await reads(app.receiver.url());
    await other.close();
    await page.bringToFront();
  });

  it('starts anew with each link that its frame is given, even after the link before has ended', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const console = app.server.app.get(ConsoleService);
    for (const tenant of ['acme', 'globex']) {
      const urls = [app.receiver.url(`/${tenant}`)];
      await app.server.app.get(DestinationsService).create({ tenant, name: `Hooks of ${tenant}`, urls });
    }
    const linkFor = (tenant: string): string => `${app.server.url}${console.linkFor({ tenant })}`;
    settings.src = linkFor('acme');
    await page.goto(origins.named);
    const frame = await page.waitForFrame((one) => one !== page.mainFrame());
    // `textContent`, since rows that are out of sight in so small a frame are not drawn.
    const reads = (text: string): Promise<unknown> =>
      until(async () => {
        const shown = String(await frame.evaluate('document.body.textContent'));
        return shown.includes(text) ? true : undefined;
      });
    const give = (link: string): Promise<unknown> =>
      page.evaluate(`document.querySelector('iframe').src = ${JSON.stringify(link)}`);
    await reads('Hooks of acme');

    await give(linkFor('globex'));
    await reads('Hooks of globex');
    expect(await frame.evaluate('document.body.textContent')).not.toContain('Hooks of acme');
    // The settings page around the frame says whose destinations they are.
    expect(await frame.evaluate('document.body.textContent')).not.toContain('Tenant');
    expect(await frame.evaluate('location.hash')).toBe('#/');

    await console.revokeLinks({ tenant: 'globex' });
    await frame.evaluate(`location.hash = '#/destinations'`);
    await reads('This link is no longer valid: open it again from where you found it, or ask for a new one.');
    await give(linkFor('globex'));
    await reads('Hooks of globex');
  });
});

describe('the token of a link', () => {
  const NEVER = { revoke: () => Promise.resolve(), revokedAt: () => Promise.resolve(0) };

  it('expires, and works with an older key only while that key is given', async () => {
    const [older, newer] = [key(), key()];
    let now = 1_000;
    const linksWith = (...keys: Buffer[]): ConsoleLinks =>
      new ConsoleLinks(new LinkSigner(keys), NEVER, () => now);
    const token = linksWith(older).create('acme', 500);
    const changed = token.replace(/^[^.]+/, Buffer.from('["other",1000,9000]').toString('base64url'));
    for (const text of ['', '.', 'x.y', changed, 'x'.repeat(5_000)]) {
      await expect(linksWith(older).tenantOf(text)).rejects.toMatchObject({ code: 'LINK_ENDED' });
    }
    await expect(linksWith(newer).tenantOf(token)).rejects.toMatchObject({ code: 'LINK_ENDED' });
    expect(await linksWith(newer, older).tenantOf(token)).toBe('acme');
    now = 1_500;
    await expect(linksWith(older).tenantOf(token)).rejects.toMatchObject({ code: 'LINK_ENDED' });
  });

  it('is refused with an error code if it cannot be made', () => {
    const code = (value: string): object => expect.objectContaining({ code: value });
    const service = (...keys: Buffer[]): ConsoleService =>
      new ConsoleService(() => ({
        links: new ConsoleLinks(new LinkSigner(keys), NEVER),
        path: '/analytics',
      }));
    expect(() => new ConsoleService(() => undefined).linkFor(LINK)).toThrow(code('CONSOLE_DISABLED'));
    expect(() => service().linkFor(LINK)).toThrow(code('CONSOLE_LINK_KEY'));
    for (const wrong of [
      { tenant: '' },
      { expiresIn: 0 },
      { expiresIn: NaN },
      { expiresIn: 31 * 86_400_000 },
    ]) {
      expect(() => service(key()).linkFor({ ...LINK, ...wrong })).toThrow(code('INVALID_CONSOLE_LINK'));
    }
  });

  it('is neither made nor revoked with unknown or wrong options', async () => {
    const console = new ConsoleService(() => ({
      links: new ConsoleLinks(new LinkSigner([key()]), NEVER),
      path: '/analytics',
    }));
    const refused = (message: RegExp): object =>
      expect.objectContaining({ code: 'INVALID_CONSOLE_LINK', message: expect.stringMatching(message) });
    // The link would be valid for an hour, while the caller meant a minute.
    expect(() => console.linkFor({ ...LINK, expiresin: 60_000 } as ConsoleLinkOptions)).toThrow(
      refused(/did you mean `expiresIn`\?/),
    );
    for (const [wrong, problem] of [
      [{ ...LINK, expiresIn: '60000' }, /`expiresIn` .* expected a number of milliseconds, got "60000"/],
      [{}, /`tenant` .* got undefined/],
      ['acme', /expected an object, got a string/],
      [undefined, /expected an object, got undefined/],
    ] as const) {
      expect(() => console.linkFor(wrong as unknown as ConsoleLinkOptions)).toThrow(refused(problem));
    }
    for (const wrong of [{ ...LINK, tenantId: 'globex' }, {}, 'acme', undefined]) {
      await expect(console.revokeLinks(wrong as unknown as ConsoleLinkOptions)).rejects.toEqual(refused(/./));
    }
  });
});
