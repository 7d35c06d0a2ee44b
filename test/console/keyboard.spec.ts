import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { until } from '../support/until.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';
import { untilTrue } from './until-true.js';

const BUTTONS: [name: string, path: string][] = [
  ['Refresh failed messages', '/failed?'],
  ['Rotate the secret', '/rotate-secret'],
];

describeWith('chromium', Browser.binary !== undefined, 'the console with a keyboard', () => {
  /** Refuses a message once, and accepts it the next time. */
  const answer = (_: unknown, index: number): number => (index % 2 === 0 ? 400 : 200);
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection, { answer }), 'operator');

  it.each(BUTTONS)('keeps the focus on the button "%s" that was pressed', async (name, path) => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const urls = [app.app.receiver.url()];
    const { id } = await app.app.server.app.get(DestinationsService).create({ tenant: 'acme', urls });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('No matching message has failed for good.');
    const button = await page.locator(`::-p-aria(${name})`).waitHandle();
    const asked = app.proxy.hold(path);
    await button.focus();
    await page.keyboard.press('Enter');
    await asked.next();
    // Two frames, in which the browser takes the focus away from a button that is disabled.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    asked.release();
    const isThere = `document.activeElement.matches('button:enabled') && document.activeElement.textContent`;
    await untilTrue(page, `(${isThere}) === ${JSON.stringify(name)}`);
  });

  it('keeps the focus on the button that saves a form, and returns it to the button that has opened the form', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const urls = [app.app.receiver.url()];
    const { id } = await app.app.server.app.get(DestinationsService).create({ tenant: 'acme', urls });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.click('Edit');
    const save = async (text: string): Promise<void> => {
      await page.locator('#rateLimit').fill(text);
      await page.focus('button[type=submit]');
      await page.keyboard.press('Enter');
    };
    const isAt = (name: string): Promise<void> =>
      untilTrue(
        page,
        `document.activeElement.matches('button:enabled') &&
        document.activeElement.textContent === ${JSON.stringify(name)}`,
      );
    await save('many');
    await visitor.reads('Expected a finite number');
    await isAt('Save');
    await save('50');
    await visitor.reads('50 requests a second');
    await isAt('Edit');
  });

  it('moves the focus to the heading when Enter in a field has closed the form', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    await visitor.goTo('#/new');
    await page.locator('#urls').fill(app.app.receiver.url());
    // A destination of all tenants would get the events of the other tests.
    await page.locator('#tenant').fill('umbrella');
    await page.locator('#name').fill('Warehouse');
    await page.focus('#name');
    await page.keyboard.press('Enter');
    await visitor.reads('The destination was added');
    await untilTrue(page, `document.activeElement.matches('h1')`);
    const shown = `document.querySelector('nav [aria-current=page]').textContent`;
    expect(await page.evaluate(shown)).toBe('Destinations');
  });

  it('moves the focus to the heading of each page that is opened, whose name is the title, and nowhere at first', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const destinations = app.app.server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: ['https://crm.example'], name: 'CRM' });
    const isAt = async (heading: string): Promise<void> => {
      await untilTrue(
        page,
        `document.activeElement.matches('h1') &&
        document.activeElement.textContent === ${JSON.stringify(heading)}`,
      );
      expect(await page.title()).toBe(`${heading} – Analytics`);
    };
    const follow = async (link: string): Promise<void> => {
      await page.locator(link).wait();
      await page.focus(link);
      await page.keyboard.press('Enter');
    };
    await page.goto(app.url);
    await page.locator('h1').wait();
    await untilTrue(page, 'document.title === "Overview – Analytics"');
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true);
    await follow('a[href="#/live"]');
    await isAt('Live');
    await follow('a[href="#/sources"]');
    await isAt('Sources');
    await follow('a[href="#/destinations"]');
    await isAt('Destinations');
    await follow(`a[href="#/destinations/${id}"]`);
    await isAt('CRM');
    await follow('article a[href="#/destinations"]');
    await isAt('Destinations');
    await follow('a[href="#/new"]');
    await isAt('Add a destination');
    await page.locator('#urls').fill('https://new.example');
    await page.focus('button[type=submit]');
    await page.keyboard.press('Enter');
    await isAt('The destination was added');
    await page.goBack();
    await isAt('Destinations');
    await destinations.update(id, { name: 'Renamed' });
    await page.goBack();
    await isAt('Renamed');
  });

  describe('at a button that disappears when it is pressed', () => {
    /** Presses a button with the keyboard. */
    const press = async (name: string): Promise<void> => {
      const { page } = visit.visitor;
      await (await page.locator(`::-p-aria([name="${name}"][role="button"])`).waitHandle()).focus();
      await page.keyboard.press('Enter');
    };
    const isAt = async (selector: string, text: string): Promise<void> => {
      await untilTrue(
        visit.visitor.page,
        `document.activeElement.matches(${JSON.stringify(selector)}) &&
            document.activeElement.textContent === ${JSON.stringify(text)}`,
      ).catch(async () => {
        const at = await visit.visitor.page.evaluate('document.activeElement.outerHTML.slice(0, 200)');
        throw new Error(`It is not at "${text}", but at ${String(at)}`);
      });
    };

    let tenants = 0;
    /** Adds a destination of a new tenant whose receiver has refused a message. */
    async function refused(): Promise<{ id: string; messageId: string }> {
      const { server, receiver } = visit.app.app;
      const urls = [receiver.url('/refused')];
      const tenant = `refused ${++tenants}`;
      const { id } = await server.app.get(DestinationsService).create({ tenant, urls });
      const messageId = server.analytics.tenant(tenant).track({ userId: 'u1', event: 'Order Completed' });
      const deliveries = server.app.get(DeliveriesService);
      await until(async () => (await deliveries.failed({ destination: id }))[0]);
      await until(async () => (await deliveries.recent({ destination: id }))[0]);
      return { id, messageId };
    }

    it('moves the focus to the heading above, after selected messages are delivered again', async () => {
      const { visitor } = visit;
      const { id } = await refused();
      await visitor.goTo(`#/destinations/${id}`);
      await visitor.page.locator('input[type=checkbox]').click();
      await press('Replay 1 message');
      await visitor.reads('1 message is delivered again.');
      await isAt('h2', 'Failed for good');
    });

    it('moves the focus to the heading of a message that is delivered again', async () => {
      const { visitor, app } = visit;
      const { id, messageId } = await refused();
      await visitor.goTo(`#/destinations/${id}/messages/${messageId}`);
      await visitor.reads('Replay this message');
      const asked = app.proxy.hold('/replay');
      await press('Replay this message');
      await asked.next();
      asked.release();
      await visitor.reads('1 message is delivered again.');
      await isAt('h1', 'Order Completed');
    });

    it('moves the focus to the heading of Live when all events are shown again', async () => {
      const { visitor } = visit;
      await visitor.goTo('#/live');
      await visitor.fill('Text', 'nothing');
      await press('Show all');
      await isAt('h1', 'Live');
    });

    it('moves the focus to the first destination that was not shown before', async () => {
      const { visitor, app } = visit;
      const destinations = app.app.server.app.get(DestinationsService);
      for (let n = 0; n < 120; n++) {
        await destinations.create({ tenant: `tenant ${n}`, urls: ['https://crm.example'], name: `Of ${n}` });
      }
      await visitor.goTo('#/destinations');
      await visitor.reads('Show more');
      const before = await visitor.page.$$eval('tbody tr', ({ length }) => length);
      await press('Show more');
      await untilTrue(visitor.page, `document.querySelectorAll('tbody tr').length > ${before}`);
      const next = `tbody tr:nth-child(${before + 1}) a`;
      await isAt(next, await visitor.page.$eval(next, (link) => String(Reflect.get(link, 'textContent'))));
    });
  });
});
