import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

describeWith('chromium', Browser.binary !== undefined, 'the console without a history', () => {
  const visit = new ConsoleVisit(
    (connection) => ConsoleApp.start(connection, { answer: [400], analytics: () => ({ history: false }) }),
    'acme',
  );

  async function addDestination(): Promise<string> {
    const { server, receiver } = visit.app;
    const destinations = server.app.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    return id;
  }

  it('shows a customer no error and, without a click, what has failed', async () => {
    const { visitor, app } = visit;
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('No history of deliveries is kept here.');
    await visitor.reads('No matching message has failed for good.');
    expect(await visitor.page.evaluate(`document.querySelectorAll('[role=alert]').length`)).toBe(0);
    expect(await visitor.text()).not.toContain('history: false');
    app.server.analytics.tenant('acme').track({ userId: 'u1', event: 'Refused' });
    await visitor.reads('400 track');
  });

  it('tells the operator how to keep a history', async () => {
    const { visitor } = visit;
    await visitor.showTo('operator', '/analytics');
    await visitor.goTo(`#/destinations/${await addDestination()}`);
    await visitor.reads('No history is kept: remove history: false to see it here.');
  });
});
