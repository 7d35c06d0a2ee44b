import { expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import { until } from '../support/until.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';
import { RowList } from './row-list.js';
import { untilTrue } from './until-true.js';

const LIST = '[aria-label="Messages that failed for good"]';
const IDS = `Array.from(document.querySelectorAll('${LIST} [data-id]'), ({ dataset }) => dataset.id)`;

describeWith('chromium', Browser.binary !== undefined, 'messages that somebody else replays', () => {
  let status = 400;
  const visit = new ConsoleVisit(
    (connection) =>
      ProxiedConsole.start(connection, {
        answer: (request) => (messageIn(request).event === 'Refused' ? status : 200),
      }),
    'acme',
  );

  const track = (event: 'Refused' | 'Taken'): string =>
    visit.app.app.server.analytics.tenant('acme').track({ userId: 'u1', event });

  it('are listed no more, even if the page sees too late that they were delivered', async () => {
    const { visitor, app } = visit;
    const { page } = visitor;
    const { server, receiver } = app.app;
    const { id } = await server.app
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [receiver.url()] });
    await visitor.goTo(`#/destinations/${id}`);
    for (let n = 0; n < 130; n++) track('Refused');
    await visitor.reads('130 failed');
    await visitor.click('Refresh failed messages');
    const list = new RowList(page, LIST);
    await until(async () => ((await list.count()).all === 20 ? true : undefined));
    await visitor.click('Show more');
    await until(async () => ((await list.count()).all === 120 ? true : undefined));
    // On the second page of the list, open, and in sight.
    await list.read(112);
    const replayed = ((await page.evaluate(IDS)) as string[]).slice(110, 115);

    const held = app.proxy.hold('/recent');
    status = 200;
    await server.app.get(DeliveriesService).replay({ destination: id, messageIds: replayed });
    await visitor.reads('5 delivered');
    for (let n = 0; n < 110; n++) track('Taken');
    await visitor.reads('115 delivered');
    held.release();
    await untilTrue(page, `!${IDS}.some((id) => ${JSON.stringify(replayed)}.includes(id))`);
    expect((await list.count()).all).toBe(115);
    expect(await visitor.text()).not.toContain('More messages have failed in between.');
  });
});
