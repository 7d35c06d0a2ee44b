import { expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { until } from '../support/until.js';
import { RefusingVisit } from './refusing-visit.js';
import { untilTrue } from './until-true.js';

const IDS = `Array.from(document.querySelectorAll('[data-id]'), ({ dataset }) => dataset.id)`;

describeWith('chromium', Browser.binary !== undefined, 'messages that somebody else replays', () => {
  const visit = new RefusingVisit();

  it('are listed no more, even if the page sees too late that they were delivered', async () => {
    const { visitor, app, list } = visit;
    const { page } = visitor;
    const id = await visit.open();
    for (let n = 0; n < 170; n++) visit.track('Refused');
    await visitor.reads('170 failed');
    await visitor.click('Refresh failed messages');
    for (const count of [20, 120]) {
      await until(async () => ((await list.count()).all === count ? true : undefined));
      await visitor.click('Show more');
    }
    await until(async () => ((await list.count()).all === 170 ? true : undefined));
    // On the second page of the list, open, and in sight.
    await list.read(112);
    const replayed = ((await page.evaluate(IDS)) as string[]).slice(110, 115);

    const held = app.proxy.hold('/recent');
    visit.takeRefused();
    const deliveries = app.app.server.app.get(DeliveriesService);
    await deliveries.replay({ destination: id, messageIds: replayed });
    await visitor.reads('5 delivered');
    for (let n = 0; n < 110; n++) visit.track('Taken');
    await visitor.reads('115 delivered');
    const checks: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/failed?')) checks.push(request.url());
    });
    held.release();
    await untilTrue(page, `!${IDS}.some((id) => ${JSON.stringify(replayed)}.includes(id))`);
    expect((await list.count()).all).toBe(165);
    expect(await visitor.text()).not.toContain('More messages have failed in between.');
    // Each id in an address would take many requests.
    expect(checks.filter((url) => url.includes('messageIds='))).toEqual([]);
  });
});
