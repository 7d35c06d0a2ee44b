import { afterEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';

describeWith('chromium', Browser.binary !== undefined, 'the page of a message', () => {
  const visit = new ConsoleVisit(
    (connection) => ProxiedConsole.start(connection, { answer: () => 400 }),
    'acme',
  );
  afterEach(() => {
    visit.app.proxy.passAll();
  });

  /** Resolves to a message that has failed for good, and the address of its page. */
  async function failed(): Promise<{ messageId: string; hash: string }> {
    const { visitor, app } = visit;
    const { server, receiver } = app.app;
    const destinations = server.app.get(DestinationsService);
    for (const { id } of (await destinations.list({ tenant: 'acme' })).destinations)
      await destinations.delete(id);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    const messageId = server.analytics.tenant('acme').track({ userId: 'u1', event: 'Order Completed' });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('failed Order Completed');
    await visitor.reads('400 track');
    return { messageId, hash: `#/destinations/${id}/messages/${messageId}` };
  }

  it('shows each part as soon as it is there, without moving the others', async () => {
    const { visitor, app } = visit;
    const { hash, messageId } = await failed();
    const kept = app.proxy.hold('/failed?');
    const explained = app.proxy.hold('/explain');
    await visitor.goTo(hash);
    await visitor.reads(`${messageId} failed`);
    await visitor.reads('The receiver considers the request invalid.');
    await visitor.reads('Loading …');
    await kept.next();
    await explained.next();
    const shifts = await visitor.layoutShifts();
    kept.release();
    await visitor.reads('Replay this message');
    await visitor.reads('Loading …');
    explained.release();
    await visitor.reads('The same with curl');
    expect(await visitor.text()).not.toContain('Loading …');
    expect(await shifts()).toEqual([]);
  });

  it('keeps a part back until those above it are there', async () => {
    const { visitor, app } = visit;
    const { hash } = await failed();
    const recent = app.proxy.hold('/recent');
    await visitor.goTo(hash);
    await recent.next();
    const explained = visitor.page.waitForResponse((answer) => answer.url().includes('/explain'));
    await visitor.reads('Loading …');
    await (await explained).text();
    const shifts = await visitor.layoutShifts();
    expect(await visitor.text()).not.toContain('Replay this message');
    recent.release();
    await visitor.reads('Replay this message');
    await visitor.reads('The same with curl');
    expect(await shifts()).toEqual([]);
  });

  it('shows an error beside its part while another part is still being loaded', async () => {
    const { visitor, app } = visit;
    const { hash, messageId } = await failed();
    const error = { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' };
    app.proxy.answer('/recent', (response) => {
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    });
    const explained = app.proxy.hold('/explain');
    await visitor.goTo(hash);
    await visitor.reads(error.message);
    await visitor.reads('Replay this message');
    expect(await visitor.text()).not.toContain('Nothing is known');
    explained.release();
    await visitor.reads('The same with curl');
    app.proxy.passAll();
    await visitor.click('Load its attempts again');
    await visitor.reads(`${messageId} failed`);
    expect(await visitor.text()).not.toContain(error.message);
  });
});
