import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from '@jest/globals';
import axe from 'axe-core';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { ConsoleVisit } from './console-visit.js';
import { LivelyConsole } from './lively-console.js';
import type { Visitor } from './visitor.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Folder for pictures: of every page with `CONSOLE_PICTURES`, otherwise of the pages that have a problem. */
const PICTURES = process.env.CONSOLE_PICTURES ?? join(ROOT, 'test-artifacts', 'console');
/** Folder of the pictures in the documentation, which `DOCS_PICTURE=1` takes anew. */
const DOCS_PICTURES = join(ROOT, 'docs', 'public');
const TIMEOUT = 120_000;

const VIEWS = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 1280 },
  { scheme: 'light', width: 375 },
  { scheme: 'dark', width: 375 },
];

describeWith('chromium', Browser.binary !== undefined, 'every page of the console', () => {
  const visit = new ConsoleVisit((connection) => LivelyConsole.start(connection), 'operator');
  let lively: LivelyConsole;
  let visitor: Visitor;

  beforeAll(async () => {
    ({ app: lively, visitor } = visit);
    await mkdir(PICTURES, { recursive: true });
  });

  async function lookAs({ scheme, width }: (typeof VIEWS)[number]): Promise<void> {
    await visitor.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await visitor.page.setViewport({ width, height: 800 });
  }

  /** Resolves to whatever keeps people from using the page that is shown. */
  async function faults(): Promise<string[]> {
    // The document stays the same until another user opens the console.
    if ((await visitor.page.evaluate('typeof axe')) === 'undefined') await visitor.page.evaluate(axe.source);
    const { violations } = (await visitor.page.evaluate(
      `axe.run({ resultTypes: ['violations'] })`,
    )) as axe.AxeResults;
    const found = violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
    const [needed, given] = (await visitor.page.evaluate(
      '[document.documentElement.scrollWidth, innerWidth]',
    )) as [number, number];
    return needed > given ? [...found, `it is ${needed} px wide, and the window ${given}`] : found;
  }

  async function openAll(isOpen = true): Promise<void> {
    await visitor.page.evaluate(
      `document.querySelectorAll("details").forEach((one) => { one.open = ${isOpen}; })`,
    );
  }

  it.each(VIEWS)(
    'can be used by everybody, and fits the window: $scheme, $width px wide',
    async (view) => {
      await lookAs(view);
      await visitor.showTo('operator', '/analytics');
      const found: Record<string, string[]> = {};
      const check = async (name: string): Promise<void> => {
        const path = join(PICTURES, `${name.replaceAll(' ', '-')}-${view.scheme}-${view.width}.png`);
        const problems = await faults();
        if (problems.length > 0) found[name] = problems;
        if (problems.length > 0 || process.env.CONSOLE_PICTURES !== undefined)
          await visitor.page.screenshot({ path, fullPage: true });
      };
      for (const [name, { hash, shows }] of Object.entries(lively.pages)) {
        const shifts = await visitor.layoutShifts();
        await visitor.goTo(hash);
        await visitor.sees(shows);
        const jumps = await shifts();
        await check(name);
        if (jumps.length > 0) found[`${name} jumps`] = jumps;
        await openAll();
        await check(`${name} with all open`);
        // The figures behind a chart are a list, the latest first, which moves down when a minute begins.
        await openAll(false);
      }
      const known = Object.values(lively.pages).map(({ hash }) => hash);
      const linked = (await visitor.page.evaluate(
        `Array.from(document.querySelectorAll('nav a'), (link) => link.hash)`,
      )) as string[];
      for (const hash of linked.filter((one) => !known.includes(one))) {
        await visitor.goTo(hash);
        await visitor.page.locator(`nav [aria-current][href="${hash}"]`).wait();
        await check(`page ${hash.slice('#/'.length)}`);
      }
      await visitor.goTo('#/live');
      await visitor.reads('Watching');
      lively.track();
      await visitor.reads('1 of 1 event');
      await openAll();
      await check('live events with all open');
      await visitor.goTo('#/new');
      await visitor.fill('URLs', 'globex.example');
      await visitor.click('Add');
      await visitor.sees('Expected an absolute URL');
      await check('new destination with a problem');

      await visitor.goTo(lively.pages.destination?.hash ?? '');
      await visitor.click('Send a test event');
      await visitor.sees('first byte');
      await visitor.click('Rotate the secret');
      await visitor.sees('whsec_');
      await visitor.click('Edit');
      await visitor.sees('One per line, 1 to 5.');
      await check('destination in use');

      await visitor.showTo('nobody-yet', '/analytics');
      await visitor.sees('There are no destinations yet');
      await check('empty list of a tenant');
      await visitor.showTo('', lively.linkFor('acme'));
      await visitor.sees('Acme, the warehouse');
      await check('link of a tenant');
      expect(found).toEqual({});
    },
    TIMEOUT,
  );

  if (process.env.DOCS_PICTURE === '1') {
    it('is shown in the documentation', async () => {
      const take = async (name: string): Promise<void> => {
        await visitor.page.screenshot({ path: join(DOCS_PICTURES, `${name}.png`), fullPage: true });
      };
      await visitor.showTo('operator', '/analytics');
      await lookAs({ scheme: 'light', width: 1_000 });
      await visitor.sees('The last seven days');
      await take('console');
      await visitor.goTo(lively.pages.destination?.hash ?? '');
      await visitor.sees('400 track');
      await visitor.page.locator('[aria-label="Recent deliveries"] summary').click();
      await visitor.sees('the field total is missing');
      await take('console-destination');
      await visitor.goTo('#/live');
      await visitor.reads('Watching');
      lively.live();
      await visitor.reads('6 of 6 events');
      // Rows that are out of sight are not drawn.
      await visitor.page.setViewport({ width: 1_000, height: 1_170 });
      await visitor.page.locator('::-p-xpath(//summary[contains(., "u5")])').click();
      await visitor.reads('"userId": "u5"');
      // Rows that this has moved are drawn with the next frame.
      await visitor.page.evaluate(
        'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
      );
      await take('console-live');
    });
  }
});
