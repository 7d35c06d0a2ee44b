import { expect, it } from '@jest/globals';
import { ConsoleService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';

const TRACKING = '/events';

describeWith('chromium', Browser.binary !== undefined, 'behind a proxy that serves below a path', () => {
  const visit = new ConsoleVisit(
    (connection) =>
      ProxiedConsole.below('/shop', connection, {
        analytics: () => ({ trackingApi: { path: TRACKING } }),
      }),
    'operator',
  );

  it.each(['/analytics', '/analytics/'])(
    'the console at %s finds its files, its API and its streams',
    async (path) => {
      const { app, visitor } = visit;
      visitor.complaints.length = 0;
      await visitor.showTo('operator', `${app.root}${path}#/live`);
      await visitor.page.reload();
      await visitor.reads('Watching');
      await visitor.click('Sources');
      await visitor.sees('Since this process started');
      await visitor.page.locator('summary').click();
      await visitor.sees('AnalyticsBrowser.load');
      expect(await visitor.text()).toContain(`'${new URL(app.url).host}/shop${TRACKING}/v1'`);
      expect(visitor.complaints).toEqual([]);
    },
  );

  it('a link shows the destinations of its tenant, below the same path', async () => {
    const { app, visitor } = visit;
    const host = app.app.server.app;
    const urls = ['https://hooks.example.com/'];
    await host.get(DestinationsService).create({ tenant: 'acme', name: 'Hooks of acme', urls });
    await visitor.showTo('nobody', app.root + host.get(ConsoleService).linkFor({ tenant: 'acme' }));
    await visitor.reads('Hooks of acme');
  });
});
