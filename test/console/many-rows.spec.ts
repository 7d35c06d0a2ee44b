import { expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { until } from '../support/until.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { RowList } from './row-list.js';

const TIMEOUT = 120_000;
const COUNT = 1_000;
/** Most rows that are drawn at once: those on the screen, and as many above and below as a browser keeps ready. */
const MOST_DRAWN = 150;
/** Events that a process may show at once. */
const AT_ONCE = 50;

describeWith('chromium', Browser.binary !== undefined, 'a list of the console with 1,000 rows', () => {
  const visit = new ConsoleVisit(
    (connection) => ConsoleApp.start(connection, { answer: [400], analytics: () => ({ flushAt: 200 }) }),
    'operator',
  );

  async function expectToScroll(list: RowList, count: number): Promise<void> {
    const { all, drawn } = await list.count();
    expect(all).toBe(count);
    expect(drawn).toBeLessThan(MOST_DRAWN);
    const shifts = await visit.visitor.layoutShifts();
    const most = await list.scrollToEnd();
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(MOST_DRAWN);
    expect(await shifts()).toEqual([]);
  }

  /** Checks that the row that is read stays where it is while rows come in above it. */
  async function expectToStay(list: RowList, comesIn: () => Promise<void>): Promise<void> {
    await list.read(500);
    expect(await list.staysWhile(comesIn)).toBe(true);
  }

  it(
    'draws only the live events that are in sight, and keeps what is read in its place',
    async () => {
      const { visitor, app } = visit;
      const { analytics } = app.server;
      await visitor.click('Live');
      await visitor.reads('Watching');
      for (let count = AT_ONCE; count <= COUNT; count += AT_ONCE) {
        for (let n = 0; n < AT_ONCE; n++) analytics.track({ userId: `u${n}`, event: `Event ${n}` });
        const shown = count.toLocaleString('en');
        await visitor.reads(`${shown} of ${shown} events`);
      }
      const list = new RowList(visitor.page, 'ol');
      await expectToScroll(list, COUNT);
      await expectToStay(list, async () => {
        analytics.track({ userId: 'u1', event: 'The latest one' });
        await list.begins('The latest one');
      });
      expect((await list.count()).all).toBe(COUNT);
    },
    TIMEOUT,
  );

  it(
    'draws only the destinations that are in sight, and searches all of them',
    async () => {
      const { visitor, app } = visit;
      const destinations = app.server.app.get(DestinationsService);
      const names = Array.from({ length: COUNT }, (_, n) => `Customer ${n}`);
      await Promise.all(
        names.map((name) => destinations.create({ tenant: name, name, urls: ['https://a.example'] })),
      );
      await visitor.goTo('#/destinations');
      // The button stays in reach of the pointer, although the last rows are drawn only now, and take two lines.
      await visitor.click('Show more');
      const list = new RowList(visitor.page, 'table');
      await until(async () => ((await list.count()).all === COUNT ? true : undefined));
      await expectToScroll(list, COUNT);
      await visitor.fill('Search', 'CUSTOMER 777');
      await until(async () => ((await list.count()).all === 1 ? true : undefined));
      await visitor.reads('Customer 777');
    },
    TIMEOUT,
  );

  it(
    'draws only the messages of a destination that are in sight, and keeps what is read in its place',
    async () => {
      const { visitor, app } = visit;
      const { server, receiver } = app;
      const destinations = server.app.get(DestinationsService);
      const deliveries = server.app.get(DeliveriesService);
      const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
      const track = (): string => server.analytics.tenant('acme').track({ userId: 'u1', event: 'Refused' });
      for (let n = 0; n < COUNT; n++) track();
      await until(async () => {
        const count = await deliveries.countFailed({ destination: id });
        return count === COUNT ? true : undefined;
      });
      await visitor.goTo(`#/destinations/${id}`);
      const recent = new RowList(visitor.page, '[aria-label="Recent deliveries"]');
      const failed = new RowList(visitor.page, '[aria-label="Messages that failed for good"]');
      // Of the deliveries, only the latest hundred are kept.
      await until(async () => ((await recent.count()).all === 100 ? true : undefined));
      for (let count = 20; count < COUNT; count += 100) {
        await until(async () => ((await failed.count()).all === count ? true : undefined));
        await visitor.click('Show more');
      }
      await until(async () => ((await failed.count()).all === COUNT ? true : undefined));
      await expectToScroll(failed, COUNT);
      await expectToStay(failed, async () => {
        await failed.begins(track());
      });
      expect((await failed.count()).all).toBe(COUNT);
      await visitor.reads('These are the latest 1,000 messages.');
      await visitor.click('Replay all that match');
      await visitor.reads('1,001 messages are delivered again.');
      expect(visitor.questions.at(-1)).toBe('Deliver 1,001 messages again?');
    },
    TIMEOUT,
  );
});
