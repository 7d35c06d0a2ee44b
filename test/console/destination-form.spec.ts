import { expect, it } from '@jest/globals';
import { DestinationsService, type NewDestination } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

const TIMEOUT = 60_000;

describeWith('chromium', Browser.binary !== undefined, 'the form of a destination', () => {
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'acme');

  /** Adds a destination, and opens the form with which it is changed. */
  async function open(fields: Partial<NewDestination>): Promise<string> {
    const { visitor, app } = visit;
    const urls = [app.receiver.url()];
    const { id } = await app.server.app.get(DestinationsService).create({ tenant: 'acme', urls, ...fields });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.click('Edit');
    return id;
  }

  it(
    'takes away what was given before: what is emptied, and headers that are told to go',
    async () => {
      const { visitor, app } = visit;
      const destinations = app.server.app.get(DestinationsService);
      const given: Partial<NewDestination> = {
        name: 'Warehouse',
        description: 'Of the north',
        events: ['Order Completed', 'Invoice *'],
        types: ['track', 'page'],
        rateLimit: 50,
        metadata: { plan: 'pro' },
      };
      const id = await open({ ...given, headers: { 'x-team': 'growth', 'x-key': 'k1' } });
      for (const label of ['Name', 'Description', 'Events', 'Types', 'Rate limit', 'Metadata']) {
        await visitor.clear(label);
      }
      await visitor.click('Save');
      await visitor.reads('Events\nall');
      const emptied = await destinations.get(id);
      for (const field of Object.keys(given)) expect(emptied).toHaveProperty(field, undefined);
      expect(emptied.headers).toEqual(['x-team', 'x-key']);

      await visitor.click('Edit');
      await visitor.click('Remove x-team, x-key');
      await visitor.click('Save');
      await visitor.page.locator('button[aria-expanded=false]').wait();
      expect((await destinations.get(id)).headers).toEqual([]);
      await visitor.click('Send a test event');
      await visitor.sees('200 from');
      const [request] = await app.receiver.received(1);
      expect(Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([]);
      expect(visitor.complaints).toEqual([]);
    },
    TIMEOUT,
  );

  it(
    'undoes nothing that somebody else has changed since it was opened',
    async () => {
      const { visitor, app } = visit;
      const destinations = app.server.app.get(DestinationsService);
      const id = await open({ name: 'Warehouse', description: 'Of the north' });
      await visitor.fill('Name', 'Depot');
      await destinations.update(id, { description: 'Of the south' });
      await visitor.reads('Of the south');
      await visitor.click('Save');
      await visitor.reads('was changed since the given version of it was read');
      expect(await destinations.get(id)).toMatchObject({ name: 'Warehouse', description: 'Of the south' });
    },
    TIMEOUT,
  );
});
