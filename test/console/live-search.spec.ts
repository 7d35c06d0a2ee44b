import { expect, it } from '@jest/globals';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

describeWith('chromium', Browser.binary !== undefined, 'the search through live events', () => {
  const visit = new ConsoleVisit((connection) => ConsoleApp.start(connection), 'operator');

  it('finds the contents of an event as shown, but not the field names that all events have', async () => {
    const { visitor, app } = visit;
    await visitor.goTo('#/live');
    await visitor.reads('Watching');
    for (const plan of ['pro', 'Free  for all']) {
      app.server.analytics.track({ userId: 'u1', event: `Chose ${plan}`, properties: { plan } });
    }
    await visitor.reads('2 of 2 events');
    const found = async (text: string, count: number): Promise<void> => {
      await visitor.fill('Text', text);
      await visitor.reads(`${count} of 2 events`);
    };
    await found('"plan":"pro"', 1);
    expect(await visitor.text()).toContain('Chose pro');
    await found('outcome', 0);
    await found('"plan": "FREE  FOR', 1);
    await found('"plan": "free for', 0);
    await found('chose pro', 1);
    await found('taken', 0);
    await found('dropped', 2);
  });
});
