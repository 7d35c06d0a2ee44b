import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import type { Instead } from './front-proxy.js';
import { ProxiedConsole } from './proxied-console.js';
import { untilTrue } from './until-true.js';

/** Pauses between requests after which a page must be seen to wait longer each time. */
const TIMES = 3;

const UNEXPECTED = 'The answer (status 200) did not come from the application';
const CUT_OFF = 'The live connection closes immediately';

const ANSWERS: [name: string, answer: Instead, says: string][] = [
  [
    'the page of a proxy',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>');
    },
    UNEXPECTED,
  ],
  [
    'a stream without an event',
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    },
    CUT_OFF,
  ],
];

describeWith('chromium', Browser.binary !== undefined, 'a page of the console whose stream is cut', () => {
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection), 'operator');

  /** Waits until the page asks less and less often. */
  async function expectToAskLess(): Promise<void> {
    const [first = 0, ...others] = await visit.app.proxy.pauses(TIMES);
    expect(others.at(-1)).toBeGreaterThan(2 * first);
  }

  it.each(ANSWERS)(
    'says so if it gets %s for live events, and asks less and less often until it gets a stream',
    async (_, answer, says) => {
      const { visitor, app } = visit;
      await visitor.showTo('operator', '/analytics');
      app.proxy.answer('/live', answer);
      await visitor.click('Live');
      await visitor.reads(says);
      await visitor.reads('Retrying automatically.');
      await expectToAskLess();
      app.proxy.passAll();
      await visitor.reads('Watching');
    },
  );

  it('says that the destination is gone when somebody else deletes it, and nothing else', async () => {
    const { visitor, app } = visit;
    const destinations = app.app.server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [app.app.receiver.url()] });
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    await visitor.page.evaluate(`{
        globalThis.notices = [];
        new MutationObserver(() => {
          const text = document.querySelector('.notice')?.textContent;
          if (text !== undefined && text !== notices.at(-1)) notices.push(text);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
      }`);
    await destinations.delete(id);
    const gone = 'There is no destination with this id. This page no longer updates.';
    await visitor.reads(gone);
    expect(await visitor.page.evaluate('notices')).toEqual([gone]);
  });

  it.each(ANSWERS)('says so if it gets %s for changes', async (_, answer, says) => {
    const { visitor, app } = visit;
    const { id } = await app.app.server.app
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [app.app.receiver.url()], name: 'Warehouse' });
    app.proxy.answer('/changes', answer);
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads('Warehouse');
    await visitor.reads(says);
    app.proxy.passAll();
    await untilTrue(visitor.page, `!document.body.innerText.includes(${JSON.stringify(says)})`);
  });

  it('asks less and less often if each stream ends as soon as it has begun', async () => {
    const { visitor, app } = visit;
    app.proxy.answer('/live', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: ready\ndata: {}\n\n');
    });
    await visitor.goTo('#/live');
    await expectToAskLess();
  });

  it('says so if a request for an update is never answered, and asks again', async () => {
    const { visitor, app } = visit;
    app.proxy.passAll();
    await visitor.showTo('operator', '/analytics');
    await visitor.goTo('#/');
    await visitor.reads('The last hour');
    const held = app.proxy.hold('/overview');
    await visitor.click('Refresh');
    await held.next();
    await visitor.reads('The application cannot be reached.');
    held.release();
    await visitor.click('Refresh');
    await untilTrue(visitor.page, `!document.body.innerText.includes('cannot be reached')`);
  });

  it('asks again, and misses nothing, if a stream falls silent while its connection stays open', async () => {
    const { visitor, app } = visit;
    const { analytics } = app.app.server;
    app.proxy.passAll();
    await visitor.showTo('operator', '/analytics');
    await visitor.goTo('#/live');
    await visitor.reads('Watching');
    analytics.track({ userId: 'u1', event: 'Before the silence' });
    await visitor.reads('Before the silence');
    app.proxy.silence();
    analytics.track({ userId: 'u1', event: 'In the silence' });
    await visitor.reads('In the silence');
  });
});
