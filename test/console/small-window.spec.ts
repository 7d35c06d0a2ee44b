import { beforeAll, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { ProxiedConsole } from './proxied-console.js';

describeWith('chromium', Browser.binary !== undefined, 'the console in a small window', () => {
  const visit = new ConsoleVisit((connection) => ProxiedConsole.start(connection), 'operator');

  beforeAll(async () => {
    await visit.visitor.page.setViewport({ width: 375, height: 600 });
  });

  it('breaks no word in the list of the destinations', async () => {
    const { visitor, app } = visit;
    const urls = [app.app.receiver.url()];
    await app.app.server.app.get(DestinationsService).create({ tenant: 'acme', name: 'Warehouse', urls });
    await visitor.goTo('#/destinations');
    await visitor.reads('Warehouse');
    const lines = `Array.from(document.querySelectorAll('th, td'), (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return [cell.textContent, new Set(Array.from(range.getClientRects(), ({ top }) => top)).size];
    })`;
    const broken = ((await visitor.page.evaluate(lines)) as [string, number][]).filter(
      ([text, count]) => !text.includes(' ') && count > 1,
    );
    expect(broken).toEqual([]);
  });

  it('lets its reader reach the end of a page that says that it is not renewed', async () => {
    const { visitor, app } = visit;
    app.proxy.answer('/changes', (response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>');
    });
    await visitor.goTo('#/');
    await visitor.reads('Retrying automatically.');
    const top = `{
      scrollTo(0, document.documentElement.scrollHeight);
      const button = [...document.querySelectorAll('article button')].at(-1);
      const { left, top, width, height } = button.getBoundingClientRect();
      document.elementFromPoint(left + width / 2, top + height / 2)?.textContent;
    }`;
    expect(await visitor.page.evaluate(top)).toBe('Refresh');
  });
});
