import { expect, it } from '@jest/globals';
import {
  AnalyticsHealthIndicator,
  DeliveriesService,
  DestinationsService,
  HistoryDisabledError,
  type HourTotals,
  type MinuteTotals,
} from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { untilTrue } from './until-true.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Past = Pick<MinuteTotals, 'waiting'> & Partial<MinuteTotals>;

/** Returns periods up to now, the latest ones as given. */
function pastOf(latest: readonly Past[], length: number, count: number): (HourTotals & MinuteTotals)[] {
  const now = Math.floor(Date.now() / length) * length;
  return Array.from({ length: count }, (_, index) => {
    const at = now - (count - 1 - index) * length;
    const given = latest[index - count + latest.length];
    const none = { delivered: 0, retried: 0, failed: 0, waiting: undefined, durations: undefined };
    return { minute: at, hour: at, ...none, ...given };
  });
}

const minutesOf = (latest: readonly Past[]): MinuteTotals[] => pastOf(latest, MINUTE, 60);
const hoursOf = (latest: readonly Past[]): HourTotals[] => pastOf(latest, HOUR, 168);

describeWith('chromium', Browser.binary !== undefined, 'the overview in a browser', () => {
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'operator');

  /** Shows the overview with another past than the real one. */
  async function showPast(past: Partial<DeliveriesService>): Promise<void> {
    Object.assign(visit.app.server.app.get(DeliveriesService), past);
    await visit.visitor.showTo('operator', '/analytics');
    await visit.visitor.page.reload();
  }

  const evaluate = (script: string): Promise<unknown> => visit.visitor.page.evaluate(script);

  it('says at the first start what to do next, and draws what happens then without a jump', async () => {
    const { visitor, app } = visit;
    await visitor.page.setViewport({ width: 375, height: 800 });
    await visitor.reads('Nothing has been delivered yet. Add a destination and call analytics.track()');
    // Nothing has happened: the process itself looks at what waits.
    await untilTrue(visitor.page, `document.body.innerText.split('at most 0 waiting').length === 3`);
    const shifts = await visitor.layoutShifts();
    const destinations = app.server.app.get(DestinationsService);
    await destinations.create({ tenant: 'acme', urls: [app.receiver.url()] });
    app.server.analytics.tenant('acme').track({ userId: 'u1', event: 'First' });
    await untilTrue(visitor.page, `document.querySelectorAll('rect.delivered').length === 2`);
    expect(await visitor.text()).not.toContain('Nothing has been delivered yet');
    expect(await visitor.text()).toMatch(/Delivered in the last hour\s+1/);
    expect(await shifts()).toEqual([]);
    expect(await evaluate(`document.documentElement.scrollWidth`)).toBeLessThanOrEqual(375);
    expect(visitor.complaints).toEqual([]);
  });

  it('shows what waited as a line with gaps, and everything as figures, in both charts', async () => {
    const { visitor } = visit;
    const latest: Past[] = [
      { delivered: 40, waiting: 7 },
      { retried: 5, waiting: undefined },
      { delivered: 2, failed: 3, waiting: 1_234 },
    ];
    await showPast({
      totals: () => Promise.resolve(hoursOf(latest)),
      totalsByMinute: () => Promise.resolve(minutesOf(latest)),
    });
    await visitor.reads('at most 1,234 waiting');
    const labels = await evaluate(
      `Array.from(document.querySelectorAll('svg'), (svg) => svg.getAttribute('aria-label'))`,
    );
    expect(labels).toEqual([
      'A bar for each minute, in total: 42 delivered, 5 retried, 3 failed',
      'Waiting messages in each minute: at most 1,234, 1,234 in the latest minute',
      'A bar for each hour, in total: 42 delivered, 5 retried, 3 failed',
      'Waiting messages in each hour: at most 1,234, 1,234 in the latest hour',
    ]);
    const lines = await evaluate(
      `Array.from(document.querySelectorAll('path.backlog'), (path) => path.getAttribute('d').match(/M/g).length)`,
    );
    expect(lines).toEqual([2, 2]);
    await visitor.click('Figures for the last hour');
    await visitor.page.locator('.figures').wait();
    const rows = await evaluate(
      `Array.from(document.querySelectorAll('.figures tr'), (row) =>
          Array.from(row.cells, ({ textContent }) => textContent).slice(1).join(' '))`,
    );
    expect(rows).toMatchObject({ length: 61 });
    expect((rows as string[]).slice(0, 5)).toEqual([
      'delivered retried failed waiting',
      '2 0 3 1,234',
      '0 5 0 –',
      '40 0 0 7',
      '0 0 0 –',
    ]);
  });

  it.each([
    [
      'where nothing was delivered lately',
      [{ waiting: 0 }],
      'Nothing was delivered in the last hour, and no messages wait.',
    ],
    ['what is known of the hours beside a process of the version before', undefined, 'The last seven days'],
  ])('says %s', async (_, latest, text) => {
    await showPast({
      totals: () => Promise.resolve(hoursOf([{ delivered: 3, waiting: 0 }])),
      totalsByMinute: () => Promise.resolve(latest && minutesOf(latest)) as Promise<MinuteTotals[]>,
    });
    await visit.visitor.reads(text);
    await visit.visitor.reads('3 delivered');
    // The previous overview may be shown for a second more.
    const isLastHourShown = `document.body.innerText.includes('The last hour')`;
    await untilTrue(visit.visitor.page, `${isLastHourShown} === ${latest !== undefined}`);
  });

  /** Returns a function that replaces some values of the application's health. */
  function feigned(): (fields: object) => unknown {
    const indicator = visit.app.server.app.get(AnalyticsHealthIndicator);
    const isHealthy = indicator.isHealthy.bind(indicator);
    return (fields) =>
      Object.assign(indicator, {
        isHealthy: async (key: string) => ({ [key]: { ...(await isHealthy(key))[key], ...fields } }),
      });
  }

  it('says which destinations have a URL that is down, and how many more there are than it shows', async () => {
    const { visitor } = visit;
    const feign = feigned();
    const down = { url: 'hash', origin: 'https://hooks.example', since: Date.now() };
    const endpointsDown = ['dst_acme', 'dst_globex'].map((destination) => ({ ...down, destination }));
    feign({ endpointsDown, moreEndpointsDown: 30 });
    await visitor.page.reload();
    for (const text of ['dst_acme', 'dst_globex', '30 more are down']) await visitor.reads(text);
    feign({ endpointsDown, moreEndpointsDown: 1 });
    await visitor.page.reload();
    await visitor.reads('1 more is down');
    feign({});
  });

  it('asks for a worker when messages wait and none is delivered, and says when it cannot know', async () => {
    const { visitor } = visit;
    const feign = feigned();
    feign({ waiting: 9 });
    await showPast({ totalsByMinute: () => Promise.resolve(minutesOf([{ waiting: 9 }])) });
    await visitor.reads(
      'although messages wait. Check whether a worker is running, and whether a URL is down.',
    );
    feign({ waiting: undefined, queue: 'down' });
    await visitor.page.reload();
    await visitor.reads("Unknown while the queue's database does not answer.");
    expect(await evaluate(`document.querySelectorAll('svg').length`)).toBe(0);
    feign({});
  });

  it('says how to keep a history if there is none', async () => {
    const off = (): Promise<never> => Promise.reject(new HistoryDisabledError());
    await showPast({ totals: off, totalsByMinute: off });
    await visit.visitor.reads('No history is kept: remove history: false to see it here.');
    expect(await evaluate(`document.querySelectorAll('svg').length`)).toBe(0);
  });
});
