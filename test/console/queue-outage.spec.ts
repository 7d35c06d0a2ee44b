import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeServers, describeWith } from '../support/describe-backend.js';
import { Stage } from '../support/stage.js';
import { ConsoleApp } from './console-app.js';
import { Visitor } from './visitor.js';

const TIMEOUT = 120_000;
const AWAY = 'The database of the queue does not answer.';
const MAY_BE_MADE = 'The requested change may still be made later, or not at all.';

describeWith('chromium', Browser.binary !== undefined, 'a destination on the console', () => {
  describeServers('while the queue is away', (backend) => {
    const stage = new Stage();

    it(
      'says what becomes of a change only to those who have asked for one',
      async () => {
        const app = await stage.add(
          ConsoleApp.start(backend.connection, { analytics: () => ({ shutdownTimeout: 500 }) }),
        );
        const destinations = app.server.app.get(DestinationsService);
        const { id } = await destinations.create({ tenant: 'acme', urls: [app.receiver.url()] });
        const visitor = await stage.add(Visitor.open(app.url, 'acme'));
        await visitor.goTo(`#/destinations/${id}`);
        await visitor.reads('Nothing was delivered in the last seven days.');
        await backend.server.stop();
        await visitor.reads(`${AWAY} `);
        await visitor.click('Refresh recent deliveries');
        const alert = await visitor.page.locator('[role=alert]').waitHandle();
        expect(await alert.evaluate((shown): unknown => Reflect.get(shown, 'innerText'))).toBe(AWAY);
        expect(await visitor.text()).not.toContain('A change');
        await visitor.click('Disable');
        await visitor.reads(`${AWAY} ${MAY_BE_MADE}`);
        await backend.server.start();
      },
      TIMEOUT,
    );
  });
});
