import { expect, it } from '@jest/globals';
import { DestinationsService, type JsonObject } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

function nested(levels: number): JsonObject {
  return JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`) as JsonObject;
}

describeWith(
  'chromium',
  Browser.binary !== undefined,
  'what somebody else has written in the console',
  () => {
    const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'operator');

    const lengthOf = (selector: string, field: string): Promise<unknown> =>
      visit.visitor.page.$eval(selector, (element, name) => String(Reflect.get(element, name)).length, field);

    it('breaks no page, however deeply it is nested', async () => {
      const { visitor, app } = visit;
      const { analytics } = app.server;
      await visitor.goTo('#/live');
      await visitor.reads('Watching');
      analytics.tenant('acme').track({ userId: 'u1', event: 'Deep', properties: nested(3_800) });
      await visitor.reads('1 of 1 event');
      await visitor.page.locator('summary').click();
      await visitor.page.locator('.row pre').wait();
      expect(await lengthOf('.row pre', 'textContent')).toBeLessThan(10_000);

      const urls = [app.receiver.url()];
      const { id } = await app.server.app
        .get(DestinationsService)
        .create({ tenant: 'acme', urls, metadata: nested(90) });
      await visitor.goTo(`#/destinations/${id}`);
      await visitor.click('Edit');
      await visitor.page.locator('#metadata').wait();
      expect(await lengthOf('#metadata', 'value')).toBeLessThan(1_000);
    });
  },
);
