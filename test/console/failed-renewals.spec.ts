import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ServerResponse } from 'node:http';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { TrackingServer } from '../ingest/http/tracking-server.js';
import { consoleOptions } from './console-app.js';
import { RefusingVisit } from './refusing-visit.js';

/** Jobs that wait in the queue. */
const WAITING = 100;

describeWith('chromium', Browser.binary !== undefined, 'what a page shows as failed', () => {
  const visit = new RefusingVisit();

  /** Returns the URLs of requests for failed messages, noted from now on. */
  function requests(): string[] {
    const paths: string[] = [];
    visit.visitor.page.on('request', (request) => {
      if (request.url().includes('/failed?')) paths.push(request.url());
    });
    return paths;
  }

  it('is loaded again only when more has failed, and then without a look at what waits', async () => {
    const { visitor } = visit;
    await visit.open();
    const paths = requests();
    for (const count of [1, 2, 3]) {
      visit.track('Taken');
      await visitor.reads(`${count} delivered`);
    }
    expect(paths).toEqual([]);
    await visit.list.begins(visit.track('Refused'));
    expect(paths).toEqual([expect.stringContaining('waiting=false')]);
  });

  it('is loaded by one request at a time, however much fails meanwhile', async () => {
    const { visitor, app } = visit;
    await visit.open();
    const paths = requests();
    const held = app.proxy.hold('/failed?');
    visit.track('Refused');
    await held.next();
    for (const count of [2, 3, 4]) {
      visit.track('Refused');
      await visitor.reads(`${count} failed`);
    }
    expect(held.count()).toBe(1);
    expect(paths).toHaveLength(1);
    const last = visit.track('Refused');
    await visitor.reads('5 failed');
    held.release();
    await visit.list.begins(last);
    expect((await visit.list.count()).all).toBe(5);
  });

  it('is loaded again, without showing an error, when its reader was already reading too much', async () => {
    const { visitor, app } = visit;
    await visit.open();
    let refusals = 0;
    app.proxy.answer('/failed?', (response) => {
      refusals++;
      response
        .writeHead(429, { 'content-type': 'application/json' })
        .end('{"error":{"code":"TOO_MANY_REQUESTS","message":"Too much is read."}}');
    });
    const messageId = visit.track('Refused');
    await until(() => (refusals > 0 ? true : undefined));
    await visitor.reads('1 failed');
    expect(await visitor.text()).not.toContain('Too much is read.');
    app.proxy.passAll();
    await visit.list.begins(messageId);
  });

  /** Lets messages fail, and waits until the page shows them. @param before number of messages that failed before */
  async function fail(count: number, before: number): Promise<void> {
    for (let n = 1; n < count; n++) visit.track('Refused');
    if (count > 1) await visit.visitor.reads(`${before + count - 1} failed`);
    // The others may fail in any order.
    await visit.list.begins(visit.track('Refused'));
  }

  it('has no more rows than its reader asked for, unless they read one further down', async () => {
    await visit.open();
    await fail(15, 0);
    await fail(15, 15);
    await fail(15, 30);
    expect((await visit.list.count()).all).toBe(20);
    await visit.list.read(15);
    expect(await visit.list.staysWhile(() => fail(15, 45))).toBe(true);
    expect((await visit.list.count()).all).toBeGreaterThan(30);
    await visit.list.leave();
    await fail(1, 60);
    expect((await visit.list.count()).all).toBe(20);
  });

  it('has a gap if more has failed than was loaded, and behind the gap only what its reader reads', async () => {
    const { visitor, app } = visit;
    await visit.open();
    await fail(20, 0);
    await visit.list.read(15);
    const comesIn = async (): Promise<void> => {
      const held = app.proxy.hold('/failed?');
      for (let n = 0; n < 50; n++) visit.track('Refused');
      await visitor.reads('70 failed');
      held.release();
      await visitor.reads('More messages have failed in between.');
    };
    expect(await visit.list.staysWhile(comesIn)).toBe(true);
    const { all } = await visit.list.count();
    expect(all).toBeGreaterThan(20);
    expect(all).toBeLessThan(40);
    await visitor.click('Refresh failed messages');
    await until(async () => ((await visit.list.count()).all === 20 ? true : undefined));
    expect(await visitor.text()).not.toContain('More messages have failed in between.');
  });

  it('matches the filter, and keeps the selection, when a replay ends that began with another filter', async () => {
    const { visitor, app } = visit;
    await visit.open();
    const messageId = visit.track('Refused');
    await visit.list.begins(messageId);
    const replay = new Promise<ServerResponse>((resolve) => {
      app.proxy.answer('/replay', resolve);
    });
    await visitor.click('Replay all that match');
    const response = await replay;
    const filtered = visitor.page.waitForResponse((answer) => answer.url().includes('status=400'));
    await visitor.page.locator('::-p-aria([name="Status"][role="textbox"])').fill('400');
    await visitor.page.keyboard.press('Tab');
    await filtered;
    await visitor.click(`Select ${messageId}`);
    await visitor.reads('Replay 1 message');
    const renewed = visitor.page.waitForResponse((answer) => answer.url().includes('status=400'));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"replayed":1}');
    await visitor.reads('1 message is delivered again.');
    await (await renewed).text();
    await visitor.page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    app.proxy.passAll();
    expect((await visit.list.count()).all).toBe(1);
    expect(await visitor.text()).toContain('Replay 1 message');
  });
});

describeWith('redis', RedisServer.installed, 'what a page asks for when it renews what has failed', () => {
  const stage = new Stage();

  it('reads no waiting jobs, of which there may be a million', async () => {
    const redis = await RedisServer.create();
    await stage.add(Promise.resolve({ close: () => redis.dispose() }));
    const analytics = consoleOptions({ connection: redis.url(), worker: false });
    const server = await stage.add(TrackingServer.start({ platform: 'Express', analytics }));
    const admin = new Redis(redis.url());
    await stage.add(Promise.resolve({ close: () => admin.quit() }));
    const destinations = server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: ['https://hooks.example.com'] });
    for (let n = 0; n < WAITING; n++) {
      server.analytics.tenant('acme').track({ userId: 'u1', event: 'Waits' });
      await server.analytics.flush();
    }

    /** Resolves to the number of jobs that a request reads. */
    const jobsReadFor = async (query: string): Promise<number> => {
      const read = async (): Promise<number> =>
        Number(/cmdstat_hgetall:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
      const before = await read();
      const { status } = await server.send(`/analytics/destinations/${id}/failed?${query}`, {
        headers: { cookie: 'user=acme' },
      });
      expect(status).toBe(200);
      return (await read()) - before;
    };
    expect(await jobsReadFor('limit=20')).toBeGreaterThanOrEqual(WAITING);
    expect(await jobsReadFor('limit=20&waiting=false')).toBeLessThan(WAITING);
  });
});
