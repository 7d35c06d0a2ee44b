import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { untilTrue } from './until-true.js';

const TIMEOUT = 120_000;
/** No test machine is in this time zone, where it is another day most of the time. */
const FAR_AWAY = 'Pacific/Kiritimati';

describeWith('chromium', Browser.binary !== undefined, 'a customer at the console', () => {
  let status = 200;
  const visit = new ConsoleVisit(
    (connection) =>
      ConsoleApp.start(connection, { answer: () => ({ status, body: `answered with ${status}` }) }),
    'acme',
  );

  const track = (): string =>
    visit.app.server.analytics.tenant('acme').track({ userId: 'u1', event: 'Order Completed' });

  /** Presses Tab until a control of this name has the focus. */
  async function tabTo(name: string): Promise<void> {
    const { page } = visit.visitor;
    for (let steps = 0; steps < 30; steps++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(
        `document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText`,
      );
      if (focused === name) return;
    }
    throw new Error(`The tabulator does not lead to "${name}"`);
  }

  it(
    'leaves the empty first page, and comes back to it, with the mouse',
    async () => {
      const { visitor } = visit;
      await visitor.sees('There are no destinations yet');
      await visitor.click('Live');
      await visitor.reads('Watching');
      await visitor.click('Destinations');
      await visitor.reads('There are no destinations yet');
    },
    TIMEOUT,
  );

  it(
    'adds a destination with the keyboard alone',
    async () => {
      const { visitor, app } = visit;
      const { keyboard } = visitor.page;
      await visitor.sees('There are no destinations yet');
      await tabTo('Add a destination');
      await keyboard.press('Enter');
      await visitor.sees('One per line, 1 to 5.');
      await tabTo('URLs');
      await keyboard.type(app.receiver.url());
      await tabTo('Name');
      await keyboard.type('Warehouse');
      await keyboard.press('Enter');
      await visitor.sees('whsec_');
      await tabTo('Show it');
      await keyboard.press('Enter');
      await visitor.sees('Enabled');
      await tabTo('Send a test event');
      await keyboard.press('Space');
      await visitor.sees('200 from');
    },
    TIMEOUT,
  );

  it(
    'sees what becomes of an event: retried, failed for good, replayed, with all of its attempts',
    async () => {
      const { visitor, app } = visit;
      status = 503;
      const messageId = track();
      await visitor.reads('retrying Order Completed');
      await visitor.page.locator('summary ::-p-text(Order Completed)').click();
      await visitor.reads('The receiver, or a proxy in front of it, has an error. Look at its log.');
      await visitor.reads('answered with 503');
      status = 400;
      await visitor.reads('failed Order Completed');
      await visitor.reads('400 track');
      await visitor.click(`Message ${messageId}`);
      await visitor.reads('The same with curl');
      const text = await visitor.text();
      for (const part of [
        'The receiver, or a proxy in front of it, has an error.',
        'answered with 503',
        'The receiver considers the request invalid. Look at what it answered.',
        'answered with 400',
        `POST ${app.receiver.url()}`,
        `webhook-id: ${messageId}`,
        'curl --include',
      ]) {
        expect(text).toContain(part);
      }
      status = 200;
      await visitor.click('Replay this message');
      await visitor.reads('1 message is delivered again.');
      await visitor.click('The destination');
      await visitor.reads('delivered Order Completed');
    },
    TIMEOUT,
  );

  it(
    'replays what is selected, and all that match, after confirming the number',
    async () => {
      const { visitor } = visit;
      status = 400;
      const ids = [track(), track(), track()];
      await visitor.reads('400 track');
      for (const id of ids) await visitor.page.locator(`::-p-aria(Select ${id})`).wait();
      await visitor.click(`Select ${String(ids[0])}`);
      status = 200;
      await visitor.click('Replay 1 message');
      await visitor.reads('1 message is delivered again.');
      await visitor.click('Replay all that match');
      await visitor.reads('2 messages are delivered again.');
      expect(visitor.questions).toEqual(['Deliver 1 message again?', 'Deliver 2 messages again?']);
      await visitor.reads('No matching message has failed for good.');
    },
    TIMEOUT,
  );

  it(
    'sees a new secret once, and copies it',
    async () => {
      const { visitor } = visit;
      await visitor.click('Rotate the secret');
      await visitor.sees('whsec_');
      await visitor.click('Copy');
      await visitor.sees('Copied');
      const secret = /whsec_\S+/.exec(await visitor.text())?.[0];
      await visitor.click('Rotate the secret');
      await untilTrue(visitor.page, `!document.body.innerText.includes(${JSON.stringify(secret)})`);
      // The new secret has not been copied.
      expect(await visitor.text()).toMatch(/whsec_\S+\s+Copy\n/);
      await visitor.click('All destinations');
      await visitor.sees('Changed');
      await visitor.page.locator('::-p-aria([name="Warehouse"][role="link"])').click();
      await visitor.sees('Recent deliveries');
      expect(await visitor.text()).not.toContain('whsec_');
    },
    TIMEOUT,
  );

  it(
    'gets the secret selected if the browser does not let the page copy it',
    async () => {
      const { visitor } = visit;
      // As on a page that was loaded without TLS.
      await visitor.page.evaluate(
        `Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })`,
      );
      await visitor.click('Rotate the secret');
      await visitor.sees('whsec_');
      await visitor.click('Copy');
      await visitor.reads('Selected: press Ctrl+C');
      expect(await visitor.page.evaluate('getSelection().toString()')).toMatch(/^whsec_\S+$/);
      await visitor.page.evaluate('delete navigator.clipboard');
    },
    TIMEOUT,
  );

  it(
    'disables the destination, and enables it again',
    async () => {
      const { visitor } = visit;
      await visitor.click('Disable');
      await visitor.reads('Status\nDisabled');
      await visitor.click('Enable');
      await visitor.reads('Status\nEnabled');
    },
    TIMEOUT,
  );

  it(
    'reads why an event was kept that waited when its destination was disabled, and what to do',
    async () => {
      const { visitor } = visit;
      const why =
        'DESTINATION_DISABLED The destination was disabled. Enable it, and the message is delivered.';
      status = 503;
      const messageId = track();
      await visitor.reads('retrying Order Completed');
      await visitor.click('Disable');
      await visitor.reads('failed Order Completed');
      await visitor.page.locator('summary ::-p-text(failed)').click();
      await visitor.reads(why);
      await visitor.click(`Message ${messageId}`);
      await visitor.reads('The same with curl');
      await visitor.reads(why);
      status = 200;
      await visitor.click('The destination');
      await visitor.click('Enable');
      await visitor.reads('No matching message has failed for good.');
    },
    TIMEOUT,
  );

  it(
    'reads times in their own time zone',
    async () => {
      const { visitor, app } = visit;
      const [found] = (await app.server.app.get(DestinationsService).list({ tenant: 'acme' })).destinations;
      await visitor.page.emulateTimezone(FAR_AWAY);
      await visitor.showTo('acme', '/analytics');
      await visitor.sees('Warehouse');
      const time = new Date(found?.updatedAt ?? 0).toLocaleString('en-US', { timeZone: FAR_AWAY });
      // Either text may have a narrow space before AM and PM.
      expect((await visitor.text()).replace(/\s/g, ' ')).toContain(time.replace(/\s/g, ' '));
    },
    TIMEOUT,
  );

  it(
    'reaches nothing of another customer, and no other server',
    async () => {
      const { visitor, app } = visit;
      const [own] = (await app.server.app.get(DestinationsService).list({ tenant: 'acme' })).destinations;
      await visitor.showTo('globex', '/analytics');
      await visitor.sees('There are no destinations yet');
      expect(visitor.complaints).toEqual([]);
      await visitor.goTo(`#/destinations/${String(own?.id)}`);
      await visitor.reads('There is no destination with this id.');
      expect(await visitor.text()).not.toContain('Warehouse');
      expect([...visitor.origins]).toEqual([new URL(app.url).origin]);
    },
    TIMEOUT,
  );
});
