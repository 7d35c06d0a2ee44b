import { afterEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import type { Instead } from './front-proxy.js';
import { ProxiedConsole } from './proxied-console.js';

const SIGN_IN = 'you may have to sign in again. Reload the page.';
const UNREACHABLE = 'cannot be reached';

/** Redirects to a sign-in page, as a proxy does once a session has ended. */
const toSignIn: Instead = (response) => {
  response.writeHead(302, { location: 'https://sso.example/sign-in' }).end();
};

describeWith('chromium', Browser.binary !== undefined, 'whoever is to sign in again on another page', () => {
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection), 'acme');

  afterEach(() => {
    visit.app.proxy.passAll();
  });

  async function addDestination(): Promise<string> {
    const { app } = visit.app;
    const destinations = app.server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [app.receiver.url()] });
    return id;
  }

  it('is told so when the page reads something', async () => {
    const { visitor, app } = visit;
    const id = await addDestination();
    app.proxy.answer('/destinations/', toSignIn);
    await visitor.goTo(`#/destinations/${id}`);
    await visitor.reads(SIGN_IN);
    expect(await visitor.text()).not.toContain(UNREACHABLE);
    expect(await visitor.text()).not.toContain('Nothing was done');
  });

  it('is told that nothing was done when they asked for something to be done', async () => {
    const { visitor, app } = visit;
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    app.proxy.answer('/test', toSignIn);
    await visitor.click('Send a test event');
    await visitor.reads(`${SIGN_IN} Nothing was done.`);
  });

  it('is told so when the page listens for changes', async () => {
    const { visitor, app } = visit;
    app.proxy.answer('/changes', toSignIn);
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('Nothing was delivered in the last seven days.');
    await visitor.reads(SIGN_IN);
  });
});
