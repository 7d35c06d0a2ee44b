import { expect, it } from '@jest/globals';
import { DestinationsService, type NewDestination } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';

const GIVEN = { headers: { 'x-key': 'A1' }, types: ['track'] } satisfies Partial<NewDestination>;

describeWith('chromium', Browser.binary !== undefined, 'a form whose save got no answer', () => {
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection), 'acme');

  const destinations = (): DestinationsService => visit.app.app.server.app.get(DestinationsService);

  /** Opens the form of a new destination, changes it, and saves it without getting the answer. */
  async function saveInVain(type: () => Promise<unknown>): Promise<string> {
    const { visitor, app } = visit;
    const urls = [app.app.receiver.url()];
    const { id } = await destinations().create({ tenant: 'acme', urls, ...GIVEN });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.click('Edit');
    await type();
    app.proxy.answer(`/destinations/${id}`, (response, pass, lose) => {
      if (response.req.method === 'PATCH') lose();
      else pass();
    });
    await visitor.click('Save');
    await visitor.reads('Your request may have been carried out anyway');
    app.proxy.passAll();
    return id;
  }

  /** Resolves to the value of the header with which a test event arrives. */
  async function sentKey(id: string): Promise<unknown> {
    const { receiver } = visit.app.app;
    const { length } = receiver.requests;
    await destinations().sendTest(id);
    return (await receiver.received(length + 1))[length]?.headers['x-key'];
  }

  const typeKey = (): Promise<unknown> => visit.visitor.page.locator('#headers').fill('x-key: A2');

  it.each([
    { what: 'header values', type: typeKey, key: 'A2', types: ['track'] },
    {
      what: 'no headers',
      type: (): Promise<unknown> => visit.visitor.click('Remove x-key'),
      key: undefined,
      types: ['track'],
    },
    {
      what: 'a text that is stored in another form',
      type: (): Promise<unknown> => visit.visitor.page.locator('#types').fill('track,page'),
      key: 'A1',
      types: ['track', 'page'],
    },
  ])('blames nobody when it is saved again with $what', async ({ type, key, types }) => {
    const { visitor } = visit;
    const id = await saveInVain(type);
    expect((await destinations().get(id)).version).toBe(2);
    await visitor.click('Save');
    await visitor.page.locator('button[aria-expanded=false]').wait();
    expect(await destinations().get(id)).toMatchObject({ types });
    expect(await sentKey(id)).toBe(key);
  });

  it('still warns if somebody else has changed the destination after that', async () => {
    const { visitor } = visit;
    const id = await saveInVain(typeKey);
    await destinations().update(id, { headers: { 'x-key': 'B2' } });
    await visitor.click('Save');
    await visitor.reads('Nothing was saved');
    expect(await sentKey(id)).toBe('B2');
  });
});
