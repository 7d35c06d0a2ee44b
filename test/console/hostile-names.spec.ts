import { expect, it } from '@jest/globals';
import { ConsoleService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

/** Reverses the text that follows, unless it is isolated. */
const OVERRIDE = '\u202e';

describeWith('chromium', Browser.binary !== undefined, 'names from outside in the console', () => {
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'operator');

  /** Resolves to whether a text is drawn from left to right, in the first element that contains it. */
  const isForwards = (selector: string, text: string): Promise<unknown> =>
    visit.visitor.page.evaluate(`{
      const texts = document.createTreeWalker(document.querySelector('${selector}'), NodeFilter.SHOW_TEXT);
      while (texts.nextNode() && !texts.currentNode.data.includes('${text}'));
      const node = texts.currentNode;
      const start = node.data.indexOf('${text}');
      const leftOf = (index) => {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        return range.getBoundingClientRect().left;
      };
      leftOf(start) < leftOf(start + ${text.length - 1});
    }`);

  it('reverse nothing that stands beside them', async () => {
    const { visitor, app } = visit;
    const { analytics } = app.server;
    const destinations = app.server.app.get(DestinationsService);
    const urls = [app.receiver.url()];
    const { id } = await destinations.create({ tenant: 'acme', name: `${OVERRIDE}moc.live`, urls });
    await visitor.goTo('#/live');
    await visitor.reads('Watching');
    analytics.tenant('acme').track({ userId: `${OVERRIDE}u1`, event: `${OVERRIDE}sent` });
    await visitor.reads('1 of 1 event');
    expect(await isForwards('summary', 'default')).toBe(true);
    expect(await isForwards('summary', 'acme')).toBe(true);
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('1 delivered');
    await visitor.reads(`${OVERRIDE}sent`);
    expect(await isForwards('[aria-label="Recent deliveries"] summary', '/20')).toBe(true);
    await destinations.disable(id, { reason: 'not paid' });
    await visitor.goTo('#/');
    await visitor.reads('not paid');
    expect(await isForwards('article ul:last-of-type li', 'not paid')).toBe(true);
  });

  it('show whose pages these are, for a tenant who is signed in or has a link', async () => {
    const { visitor, app } = visit;
    await visitor.showTo('acme', '/analytics');
    await visitor.reads('Tenant acme');
    for (const tenant of ['<b>"Zoë" & Söhne</b> 🚀', `${OVERRIDE}moc.live`]) {
      const { page } = visitor;
      // Two links differ only after the `#`, so the browser follows the second one without loading the page again.
      await page.goto(`${app.server.url}${app.server.app.get(ConsoleService).linkFor({ tenant })}`);
      await visitor.reads(`Tenant ${tenant}`);
      await visitor.goTo('#/live');
      await visitor.reads('Watching');
      await visitor.reads(`Tenant ${tenant}`);
    }
    await visitor.showTo('operator', '/analytics');
    await visitor.reads('The last seven days');
    expect(await visitor.text()).not.toContain('Tenant');
  });

  it('lead to their destinations even if nothing of them is drawn', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const paths = ['/empty', '/blank', '/format', '/filler'];
    for (const [index, name] of ['', ' \u00a0', '\u200b\u202e', '\u3164'].entries())
      await destinations.create({ tenant: 'acme', name, urls: [app.receiver.url(paths[index])] });
    await visitor.goTo('#/destinations');
    for (const path of paths) {
      await visitor.goTo('#/destinations');
      await visitor.page.locator(`a::-p-text(${path})`).click();
      await visitor.page.locator(`h1::-p-text(${path})`).wait();
    }
  });

  it('are not found if they are malformed, as in a broken link', async () => {
    const { visitor } = visit;
    for (const hash of ['#/destinations/%E0%A4', '#/destinations/%E0%A4/messages/%']) {
      await visitor.goTo(hash);
      await visitor.reads('There is no destination with this id.');
      await visitor.goTo('#/');
      await visitor.reads('The last hour');
    }
  });
});
