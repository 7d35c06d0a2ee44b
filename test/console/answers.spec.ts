import { EventEmitter, once } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import type { HTTPRequest, ResponseForRequest } from 'puppeteer-core';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { Interception } from './interception.js';

describeWith('chromium', Browser.binary !== undefined, 'the console behind a proxy', () => {
  let status = 200;
  const visit = new ConsoleVisit(
    (connection) => ConsoleApp.start(connection, { answer: () => status }),
    'acme',
  );
  const interception = new Interception(() => visit.visitor.page);
  const between = interception.between.bind(interception);
  afterEach(() => interception.end());

  const answerWith =
    (answer: Partial<ResponseForRequest>) =>
    (request: HTTPRequest): void =>
      void request.respond(answer);

  async function addDestination(): Promise<string> {
    const { app } = visit;
    const destinations = app.server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [app.receiver.url()] });
    return id;
  }

  const track = (): unknown =>
    visit.app.server.analytics.tenant('acme').track({ userId: 'u1', event: 'Order Completed' });

  it('says that a replay that takes long goes on', async () => {
    const { visitor } = visit;
    const id = await addDestination();
    status = 400;
    track();
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('400 track');
    const running = { status: 202, contentType: 'application/json', body: '{"running":true}' };
    await between('/replay', answerWith(running));
    await visitor.click('Replay all that match');
    await visitor.reads(
      'The replay is taking a while, and continues by itself. Refresh to see which messages are left.',
    );
  });

  it("says that an answer is not the application's", async () => {
    const { visitor } = visit;
    await between(
      '/destinations',
      answerWith({ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway' }),
    );
    await visitor.goTo('#/destinations');
    await visitor.reads('The answer (status 502) did not come from the application');
    interception.passAll();
    await visitor.click('Try again');
    await visitor.reads('Search');
  });

  it('does not claim that nothing happened while the statistics cannot be loaded', async () => {
    const { visitor } = visit;
    const id = await addDestination();
    const error = { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' };
    const failed = { status: 500, contentType: 'application/json', body: JSON.stringify({ error }) };
    await between('/stats', answerWith(failed));
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads(error.message);
    expect(await visitor.text()).not.toContain('0 delivered');
  });

  it('does not claim that nothing is known of a message while its attempts cannot be loaded', async () => {
    const { visitor } = visit;
    const id = await addDestination();
    status = 200;
    const messageId = String(track());
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('delivered Order Completed');
    const error = { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' };
    await between(
      '/recent',
      answerWith({ status: 500, contentType: 'application/json', body: JSON.stringify({ error }) }),
    );
    await visitor.goTo(`#/destinations/${id}/messages/${messageId}`);
    await visitor.reads(error.message);
    expect(await visitor.text()).not.toContain('Nothing is known');
    interception.passAll();
    await visitor.click('Load its attempts again');
    await visitor.reads('127.0.0.1');
    await visitor.reads(`${messageId} delivered`);
  });

  it.each([
    { part: 'its request', path: '/explain', again: 'Load its request again', left: ['127.0.0.1', '400'] },
    {
      part: 'what failed',
      path: '/failed',
      again: 'Load the failed message again',
      left: ['127.0.0.1', 'POST'],
    },
  ])('shows the rest of a message while $part cannot be loaded', async ({ path, again, left }) => {
    const { visitor } = visit;
    const id = await addDestination();
    status = 400;
    const messageId = String(track());
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('failed Order Completed');
    const error = { code: 'QUEUE_UNAVAILABLE', message: 'The database of the queue does not answer.' };
    await between(
      path,
      answerWith({ status: 503, contentType: 'application/json', body: JSON.stringify({ error }) }),
    );
    await visitor.goTo(`#/destinations/${id}/messages/${messageId}`);
    await visitor.reads(error.message);
    for (const text of left) await visitor.reads(text);
    expect(await visitor.text()).not.toContain('is code in the application');
    expect(await visitor.text()).not.toContain('while the message is kept as failed');
    interception.passAll();
    await visitor.click(again);
    await visitor.reads('The same with curl');
    await visitor.reads('Replay this message');
    expect(await visitor.text()).not.toContain(error.message);
  });

  it('shows no error of a request that a later one has replaced', async () => {
    const { visitor } = visit;
    const id = await addDestination();
    status = 200;
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    const held = await new Promise<HTTPRequest>((resolve) => {
      void between('/recent', (request) => {
        interception.passAll();
        resolve(request);
      }).then(track);
    });
    await visitor.click('Refresh recent deliveries');
    await visitor.reads('delivered Order Completed');
    await visitor.page.evaluate('new Promise(requestAnimationFrame)');
    // Nobody waits for the held request any more.
    expect(held.failure()).toEqual({ errorText: 'net::ERR_ABORTED' });
    expect(await visitor.text()).not.toContain('The application cannot be reached');
  });

  it('says that a request may have been carried out all the same if no answer comes', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    await visitor.click('Send a test event');
    await visitor.reads('200 from');
    await page.evaluate(`{
        globalThis.inRealTime = AbortSignal.timeout;
        AbortSignal.timeout = (time) => inRealTime.call(AbortSignal, time / 100);
      }`);
    await between('/test', () => undefined);
    await visitor.click('Send a test event');
    await visitor.reads('Your request may have been carried out anyway');
    // The result of the first test event is gone.
    expect(await visitor.text()).not.toContain('200 from');
    await page.evaluate('AbortSignal.timeout = inRealTime');
    interception.passAll();
    await visitor.click('Send a test event');
    await visitor.reads('200 from');
  });

  it('says what is wrong when the destination on the page cannot be loaded again', async () => {
    const { visitor } = visit;
    const id = await addDestination();
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    const error = { code: 'INTERNAL_ERROR', message: 'The request failed. Send it again later.' };
    await between('GET', (request) => {
      if (!request.url().endsWith(id)) void request.continue();
      else
        void request.respond({
          status: 500,
          contentType: 'application/json',
          body: JSON.stringify({ error }),
        });
    });
    await visitor.click('Disable');
    await visitor.reads(error.message);
  });

  it('accepts no typing in a form that is being saved, but does again if that fails', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    const name = (): Promise<unknown> => page.$eval('#name', (field): unknown => Reflect.get(field, 'value'));
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    await visitor.click('Edit');
    await visitor.fill('Name', 'Depot');
    const held = new EventEmitter();
    await between('PATCH', (request) => held.emit('saved', request));
    const saving = once(held, 'saved');
    await page.keyboard.press('Enter');
    const [request] = (await saving) as [HTTPRequest];
    await page.keyboard.type('s of the north');
    expect(await name()).toBe('Depot');
    await request.abort();
    await visitor.reads('Your request may have been carried out anyway');
    await page.keyboard.type('s');
    expect(await name()).toBe('Depots');
    const again = once(held, 'saved');
    await page.keyboard.press('Enter');
    await ((await again) as [HTTPRequest])[0].continue();
    await visitor.reads('Depots');
  });

  it('stays on a page that was opened while a destination is being deleted', async () => {
    const { visitor } = visit;
    const { page } = visitor;
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    const held = new EventEmitter();
    await between('DELETE', (request) => held.emit('deleted', request));
    const deleting = once(held, 'deleted');
    await visitor.click('Delete');
    const [request] = (await deleting) as [HTTPRequest];
    await visitor.goTo('#/live');
    await visitor.reads('Watching');
    const deleted = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await request.continue();
    await deleted;
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    expect(await page.evaluate('location.hash')).toBe('#/live');
  });

  it('asks to sign in again when the session has ended', async () => {
    const { visitor } = visit;
    await visitor.goTo('#/destinations');
    await visitor.reads('Search');
    await visitor.page.browserContext().deleteCookie(...(await visitor.cookies()));
    await visitor.goTo('#/destinations/dst_any');
    await visitor.reads('You are no longer signed in. Sign in to the application again, and reload');
  });
});
