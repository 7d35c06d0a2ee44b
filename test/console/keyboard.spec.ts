import { it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';

const BUTTONS: [name: string, path: string][] = [
  ['Refresh failed messages', '/failed?'],
  ['Rotate the secret', '/rotate-secret'],
];

describeWith('chromium', Browser.binary !== undefined, 'the console with a keyboard', () => {
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection), 'operator');

  it.each(BUTTONS)('stays at the button "%s" that was pressed', async (name, path) => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const urls = [app.app.receiver.url()];
    const { id } = await app.app.server.app.get(DestinationsService).create({ tenant: 'acme', urls });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Nothing that matches has failed for good.');
    const button = await page.locator(`::-p-aria(${name})`).waitHandle();
    const asked = app.proxy.hold(path);
    await button.focus();
    await page.keyboard.press('Enter');
    await asked.next();
    // Two frames: the browser takes the focus away from a button that is disabled.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    asked.release();
    const isThere = `document.activeElement.matches('button:enabled') && document.activeElement.textContent`;
    await page.waitForFunction(`(${isThere}) === ${JSON.stringify(name)}`);
  });

  it('stays at the button with which a form is saved, and goes back to the one that has opened it', async () => {
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
    const isAt = (name: string): Promise<unknown> =>
      page.waitForFunction(`document.activeElement.matches('button:enabled') &&
        document.activeElement.textContent === ${JSON.stringify(name)}`);
    await save('many');
    await visitor.reads('Expected a finite number');
    await isAt('Save');
    await save('50');
    await visitor.reads('50 requests a second');
    await isAt('Edit');
  });
});
