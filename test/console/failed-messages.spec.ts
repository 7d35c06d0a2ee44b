import { expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { RefusingVisit } from './refusing-visit.js';
import { untilTrue } from './until-true.js';

/** The text that screen readers announce. */
const STATUS = `Array.from(document.querySelectorAll('[role=status]'), ({ textContent }) => textContent).join(' ')`;

describeWith('chromium', Browser.binary !== undefined, 'whoever looks for what has failed', () => {
  const visit = new RefusingVisit();

  it('goes on typing a filter while the page renews itself', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    await visit.open();
    const field = await page.locator('::-p-aria([name="Status"][role="textbox"])').waitHandle();
    await field.focus();
    await page.keyboard.type('40');
    visit.track('Taken');
    await visitor.reads('1 delivered');
    const typed = (): Promise<unknown> => field.evaluate((input): unknown => Reflect.get(input, 'value'));
    expect(await typed()).toBe('40');
    await page.keyboard.type('0 ');
    await page.keyboard.press('Enter');
    visit.track('Refused');
    await visitor.reads('400 track');
    expect(await typed()).toBe('400');
  });

  it('is told that the list is loading, and sees the previous list until then', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    await visit.open();
    visit.track('Refused');
    await visitor.reads('400 track');
    const held = app.proxy.hold('/failed?');
    await page.locator('::-p-aria([name="Type"][role="combobox"])').fill('page');
    await held.next();
    await untilTrue(page, `${STATUS}.includes('Loading …')`);
    expect(await visitor.text()).toContain('400 track');
    expect(await visitor.text()).not.toContain('No matching message');
    held.release();
    await visitor.reads('No matching message has failed for good.');
    await untilTrue(page, `!${STATUS}.includes('Loading …')`);
    expect(await visitor.text()).not.toContain('400 track');
  });

  it('can ask for more again after a refusal', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    await visit.open();
    for (let n = 0; n < 25; n++) visit.track('Refused');
    await visitor.reads('25 failed');
    await visitor.click('Refresh failed messages');
    const rows = `document.querySelectorAll('[data-id]').length`;
    await untilTrue(page, `${rows} === 20`);
    const error = { code: 'TOO_MANY_REQUESTS', message: 'Too much is asked for.' };
    app.proxy.answer('limit=100', (response) => {
      response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    await visitor.click('Show more');
    await visitor.reads(error.message);
    await untilTrue(page, `document.activeElement.textContent === 'Show more'`);
    const held = app.proxy.hold('limit=100');
    await visitor.click('Show more');
    await held.next();
    expect(await visitor.text()).toContain('Show more');
    held.release();
    await untilTrue(page, `${rows} === 25`);
    expect(await visitor.text()).not.toContain('Show more');
  });

  it('is told that nothing was replayed if nothing has failed', async () => {
    const { visitor } = visit;
    await visit.open();
    await visitor.click('Replay all that match');
    await visitor.reads('No matching message has failed for good, so nothing was replayed.');
  });

  it('is told to enable a destination before anything is replayed', async () => {
    const { visitor } = visit;
    const id = await visit.open();
    const messageId = visit.track('Refused');
    await visitor.reads('400 track');
    await visitor.click('Disable');
    await visitor.reads('Disabled');
    const told = 'The destination is disabled, so nothing was replayed. Enable it first.';
    await visitor.click('Replay all that match');
    await visitor.reads(told);
    await visitor.goTo(`#/destinations/${id}/messages/${messageId}`);
    await visitor.click('Replay this message');
    await visitor.reads(told);
  });

  it('is not offered a replay of selected messages that are gone', async () => {
    const { visitor, app } = visit;
    const id = await visit.open();
    const messageId = visit.track('Refused');
    const other = visit.track('Refused');
    await visitor.click(`Select ${messageId}`);
    await visitor.click(`Select ${other}`);
    await visitor.reads('Replay 2 messages');
    visit.takeRefused();
    const deliveries = app.app.server.app.get(DeliveriesService);
    await deliveries.replay({ destination: id, messageIds: [messageId] });
    await visitor.reads('Replay 1 message');
    await deliveries.replay({ destination: id, messageIds: [other] });
    await visitor.reads('No matching message has failed for good.');
    await untilTrue(visitor.page, `!document.body.innerText.includes('Replay 1 message')`);
  });

  it('keeps the selection when a replay of all messages has not taken the selected one', async () => {
    const { visitor, app } = visit;
    await visit.open();
    const messageId = visit.track('Refused');
    await visitor.click(`Select ${messageId}`);
    app.proxy.answer('/replay', (response) => {
      response.writeHead(202, { 'content-type': 'application/json' }).end('{"running":true}');
    });
    await visitor.click('Replay all that match');
    await visitor.reads('The replay is taking a while');
    app.proxy.passAll();
    await visitor.click('Refresh failed messages');
    expect(await visitor.text()).toContain('Replay 1 message');
  });
});
