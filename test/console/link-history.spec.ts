import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ConsoleService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { SettingsPages } from './settings-pages.js';

describeWith('chromium', Browser.binary !== undefined, 'a link to the console in a tab', () => {
  const settings = new SettingsPages();
  let host: string;
  beforeAll(async () => {
    host = (await settings.start()).named;
  });
  afterAll(() => settings.close());
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'nobody');

  /** Resolves to the address of a link for a tenant, who has a destination named after them. */
  async function linkFor(tenant: string): Promise<string> {
    const { app } = visit.app.server;
    const urls = ['https://hooks.example.com/'];
    await app.get(DestinationsService).create({ tenant, name: `Hooks of ${tenant}`, urls });
    return `${visit.app.server.url}${app.get(ConsoleService).linkFor({ tenant })}`;
  }

  it('is the previous one again after going back and reloading the page', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    await page.goto(await linkFor('acme'));
    await visitor.reads('Hooks of acme');
    await visitor.goTo('#/destinations');
    await page.goto(host);
    await page.goto(await linkFor('globex'));
    await visitor.reads('Hooks of globex');
    await page.goBack();
    await page.goBack();
    await page.reload();
    await visitor.reads('Hooks of acme');
    expect(await visitor.text()).not.toContain('Hooks of globex');
    await page.goBack();
    await visitor.reads('Hooks of acme');
  });

  it('is the previous one again after going back in a tab whose address was given the other link', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    await page.goto(await linkFor('initech'));
    await visitor.reads('Hooks of initech');
    const other = await linkFor('umbrella');
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(other).hash)}`);
    await visitor.reads('Hooks of umbrella');
    await page.evaluate('history.back()');
    await visitor.reads('Hooks of initech');
    await page.evaluate('history.forward()');
    await visitor.reads('Hooks of umbrella');
  });
});
