import { expect, it } from '@jest/globals';
import { DestinationsService, type NewDestination } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

describeWith('chromium', Browser.binary !== undefined, 'the form of a destination', () => {
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'acme');

  /** Adds a destination, and opens the form that changes it. */
  async function open(fields: Partial<NewDestination>): Promise<string> {
    const { visitor, app } = visit;
    const urls = [app.receiver.url()];
    const { id } = await app.server.app.get(DestinationsService).create({ tenant: 'acme', urls, ...fields });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.click('Edit');
    return id;
  }

  it('removes what was given before: fields that are emptied, and headers when asked to', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const given: Partial<NewDestination> = {
      name: 'Warehouse',
      description: 'Of the north',
      events: ['Order Completed', 'Invoice *'],
      types: ['track', 'page'],
      sources: ['default'],
      timeout: 1_000,
      retryWindow: 0,
      retryStatuses: [409],
      rateLimit: 50,
      metadata: { plan: 'pro' },
    };
    const id = await open({ ...given, headers: { 'x-team': 'growth', 'x-key': 'k1' } });
    const texts = ['Name', 'Description', 'Events', 'Types', 'Metadata', 'Sources'];
    for (const label of [...texts, 'Timeout', 'Retried for', 'Retried after', 'Rate limit']) {
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
  });

  it('sets how long and after which answers a message is retried, and shows errors beside the field', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({});
    await visitor.fill('Timeout', '90000');
    await visitor.fill('Retried for', '2 hours');
    await visitor.fill('Retried after', '5xx, 200');
    await visitor.fill('Sources', 'nowhere');
    await visitor.click('Save');
    await visitor.sees('Expected at most 60000 milliseconds, got 90000 (number).');
    for (const name of ['timeout', 'retryWindow', 'retryStatuses', 'sources']) {
      await visitor.page.locator(`#${name}[aria-invalid=true]`).wait();
    }
    const right = {
      Timeout: '2000',
      'Retried for': '7200000',
      'Retried after': '5xx, 409',
      Sources: 'default',
    };
    for (const [label, text] of Object.entries(right)) {
      await visitor.clear(label);
      await visitor.fill(label, text);
    }
    await save();
    expect(await destinations.get(id)).toMatchObject({
      sources: ['default'],
      timeout: 2_000,
      retryWindow: 7_200_000,
      retryStatuses: ['5xx', 409],
    });
  });

  it('stands below all settings of which events come, and of how long they are retried', async () => {
    const { visitor } = visit;
    await open({
      events: ['Order *'],
      sources: ['default'],
      timeout: 5_000,
      retryWindow: 90 * 60_000,
      retryStatuses: [409, '5xx'],
    });
    const facts = [
      'Events\nOrder *',
      'Types\ntrack',
      'Sources\ndefault',
      'Timeout\n5 seconds',
      'Retried for\n90 minutes',
      'Retried after\n409, 5xx',
    ];
    for (const fact of facts) await visitor.reads(fact);
  });

  const valueOf = (label: string): Promise<unknown> =>
    visit.visitor.page.$eval(`::-p-aria([name="${label}"][role="textbox"])`, (field): unknown =>
      Reflect.get(field, 'value'),
    );

  async function save(): Promise<void> {
    await visit.visitor.click('Save');
    await visit.visitor.page.locator('button[aria-expanded=false]').wait();
  }

  it('undoes nothing that somebody else has changed since it was opened', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({ name: 'Warehouse', description: 'Of the north', events: ['Order *'] });
    await visitor.fill('Name', 'Depot');
    await destinations.update(id, {
      description: 'Of the south',
      events: null,
      headers: { 'x-team': 'b' },
    });
    await visitor.reads('Of the south');
    await save();
    expect(await destinations.get(id)).toMatchObject({
      name: 'Depot',
      description: 'Of the south',
      events: undefined,
      headers: ['x-team'],
    });
  });

  it('keeps what is typed, and saves it, whichever buttons are pressed meanwhile', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({ name: 'Warehouse' });
    await visitor.fill('Description', 'Of the north');
    await visitor.click('Disable');
    await visitor.reads('Disabled');
    await visitor.click('Rotate the secret');
    await visitor.reads('This is the signing secret');
    await visitor.click('Edit');
    await visitor.page.locator('button[aria-expanded=false]').wait();
    await visitor.click('Edit');
    expect(await valueOf('Description')).toBe('Of the north');
    await save();
    expect(await destinations.get(id)).toMatchObject({ description: 'Of the north', enabled: false });
    await visitor.click('Edit');
    await visitor.fill('Description', 'Of the south');
    await visitor.click('Enable');
    await visitor.reads('Enabled');
    await destinations.disable(id, { reason: 'it takes nothing' });
    await save();
    expect(await destinations.get(id)).toMatchObject({ description: 'Of the south', enabled: false });
  });

  it('treats a field as saved if somebody else has given it the typed value', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({ description: 'Of the north' });
    await visitor.fill('Description', 'Of the south');
    // As if the form had been saved before, but had got no answer.
    await destinations.update(id, { description: 'Of the south' });
    await save();
    expect(await destinations.get(id)).toMatchObject({ description: 'Of the south', version: 2 });
  });

  it('refuses a header that is given twice, of which only the last one would be sent', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({});
    await visitor.page.locator('#headers').fill('x-key: 1\nx-team: a\nx-key: 2');
    await visitor.click('Save');
    await visitor.reads('Expected each header once, got a name that occurs twice.');
    expect(await destinations.get(id)).toMatchObject({ headers: [] });
  });

  it('shows the change that somebody else made to the same field, and replaces it only when saved again', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({ description: 'Of the north', name: 'Warehouse' });
    await visitor.fill('Description', 'Of the west');
    await visitor.fill('Name', 'Depot');
    await destinations.update(id, { description: 'Of the south' });
    await visitor.click('Save');
    await visitor.reads('It was changed meanwhile. Now it is Of the south.');
    await visitor.reads('Nothing was saved');
    expect(await valueOf('Description')).toBe('Of the west');
    expect(await destinations.get(id)).toMatchObject({ description: 'Of the south', name: 'Warehouse' });
    const described = await visitor.page.$eval('#description-hint', (hint): unknown =>
      Reflect.get(hint, 'textContent'),
    );
    expect(described).toContain('Of the south');
    await save();
    expect(await destinations.get(id)).toMatchObject({ description: 'Of the west', name: 'Depot' });
  });

  it.each([
    ['other values', (): Promise<unknown> => visit.visitor.page.locator('#headers').fill('x-key: A2')],
    ['no headers', (): Promise<unknown> => visit.visitor.click('Remove x-key')],
  ])(
    'replaces header values, which it cannot show, by %s after a change by somebody else only when saved again',
    async (kind, type) => {
      const { visitor, app } = visit;
      const destinations = app.server.app.get(DestinationsService);
      const id = await open({ headers: { 'x-key': 'A1' }, description: 'Of the north' });
      const sentKey = async (): Promise<unknown> => {
        const { length } = app.receiver.requests;
        await destinations.sendTest(id);
        return (await app.receiver.received(length + 1))[length]?.headers['x-key'];
      };
      await type();
      await destinations.update(id, { headers: { 'x-key': 'B2' }, description: 'Of the south' });
      // The page shows the new values. The form must not be saved over them.
      await visitor.reads('Of the south');
      await visitor.click('Save');
      await visitor.reads('Nothing was saved');
      await visitor.reads('It may have been changed meanwhile: values are not shown. Now it is x-key.');
      expect(await sentKey()).toBe('B2');
      await save();
      expect(await sentKey()).toBe(kind === 'no headers' ? undefined : 'A2');
      expect(await destinations.get(id)).toMatchObject({ description: 'Of the south' });
    },
  );

  it('saves the first headers of a destination even if somebody else has changed its other fields', async () => {
    const { visitor, app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const id = await open({ description: 'Of the north' });
    await visitor.page.locator('#headers').fill('x-key: A1');
    await destinations.update(id, { description: 'Of the south' });
    await save();
    expect(await destinations.get(id)).toMatchObject({ headers: ['x-key'], description: 'Of the south' });
  });
});
