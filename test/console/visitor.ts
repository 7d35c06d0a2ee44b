import puppeteer, { type Browser as Controlled, type Cookie, type Page } from 'puppeteer-core';
import { Browser } from '../support/browser.js';
import { untilTrue } from './until-true.js';

/** Answers every question with yes. */
const YES_TO_ALL = `addEventListener('DOMContentLoaded', () => {
  new MutationObserver(() => {
    const dialog = document.querySelector('dialog[open]:not([data-answered])');
    if (dialog === null) return;
    dialog.dataset.answered = '';
    noteQuestion(dialog.querySelector('p').textContent);
    dialog.querySelector('button:last-of-type').click();
  }).observe(document, { childList: true, subtree: true, attributeFilter: ['open'] });
})`;

/** Somebody who is signed in, and looks at pages in a browser of their own. */
export class Visitor {
  /** What the browser itself complained about: refused scripts, failed requests, errors of the page. */
  readonly complaints: string[] = [];
  /** Questions that the page asked before it did something. */
  readonly questions: string[] = [];
  /** Origins that the page has sent requests to. */
  readonly origins = new Set<string>();

  private constructor(
    private readonly url: string,
    private readonly browser: Browser,
    private readonly controlled: Controlled,
    readonly page: Page,
  ) {}

  static async open(url: string, user: string): Promise<Visitor> {
    const browser = await Browser.open('about:blank', { hosts: {} });
    const controlled = await puppeteer.connect({ browserWSEndpoint: await browser.controlUrl() });
    const page = await controlled.newPage();
    // Shorter than a test's timeout, so that the error says what was waited for.
    page.setDefaultTimeout(60_000);
    const visitor = new Visitor(url, browser, controlled, page);
    page.on('pageerror', (error) => visitor.complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') visitor.complaints.push(message.text());
    });
    await page.exposeFunction('noteQuestion', (text: string) => visitor.questions.push(text));
    await page.evaluateOnNewDocument(YES_TO_ALL);
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      // An address that needs no server, such as an empty page, has no origin.
      if (origin !== 'null') visitor.origins.add(origin);
    });
    await visitor.showTo(user, url);
    return visitor;
  }

  /** Signs a user in, and shows them a page: an address, or a path of the same application. */
  async showTo(user: string, path: string): Promise<void> {
    await this.controlled.setCookie({ name: 'user', value: user, domain: new URL(this.url).hostname });
    await this.page.goto(new URL(path, this.url).href);
  }

  /** Shows another page of the console, given the part of its address from the `#` on. */
  async goTo(hash: string): Promise<void> {
    // The page began to listen before, so it has noticed the change by then.
    await this.page.evaluate(`{
      globalThis.hasGone = false;
      addEventListener('hashchange', () => { hasGone = true; }, { once: true });
      const before = location.href;
      location.hash = ${JSON.stringify(hash)};
      if (location.href === before) hasGone = true;
    }`);
    await untilTrue(this.page, 'hasGone');
  }

  /** Resolves once the page shows a text. */
  async sees(text: string): Promise<void> {
    await this.page
      .locator(`::-p-text(${text})`)
      .wait()
      .catch(async () => {
        const complaints = this.complaints.join('\n');
        throw new Error(`The page does not show "${text}", but: ${await this.text()}\n${complaints}`);
      });
  }

  /** Like `sees`, for a text that takes the place of another one: a locator remembers what it has read. */
  async reads(text: string): Promise<void> {
    const isRead = `document.body.innerText.includes(${JSON.stringify(text)})`;
    await untilTrue(this.page, isRead).catch(async () => {
      throw new Error(`The page does not read "${text}", but: ${await this.text()}`);
    });
  }

  async click(name: string): Promise<void> {
    await this.page.locator(`::-p-aria(${name})`).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.locator(`::-p-aria(${label})`).fill(text);
  }

  /** Empties a field. */
  async clear(label: string): Promise<void> {
    await this.page.locator(`::-p-aria([name="${label}"][role="textbox"])`).click();
    await this.page.keyboard.down('Control');
    await this.page.keyboard.press('KeyA');
    await this.page.keyboard.up('Control');
    await this.page.keyboard.press('Backspace');
  }

  /** Notes jumps of the layout from now on. The returned function resolves to what has jumped, and how far. */
  async layoutShifts(): Promise<() => Promise<string[]>> {
    // Earlier changes are laid out with the next frame.
    await this.page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))',
    );
    await this.page.evaluate(`{
      globalThis.layoutShifts = [];
      globalThis.shiftObserver?.disconnect();
      const shown = ({ node, previousRect, currentRect }) => {
        const name = node?.className || node?.nodeName;
        const [from, to] = [previousRect, currentRect].map(({ x, y }) => Math.round(x) + ',' + Math.round(y));
        return name + ' from ' + from + ' to ' + to;
      };
      globalThis.shiftObserver = new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) {
          if (value > 0) layoutShifts.push(value + ': ' + sources.map(shown).join(', '));
        }
      });
      shiftObserver.observe({ type: 'layout-shift' });
    }`);
    return () => this.page.evaluate('layoutShifts') as Promise<string[]>;
  }

  /** Looks at another page until `until` resolves. */
  async lookAway(until: () => Promise<unknown>): Promise<void> {
    const other = await this.controlled.newPage();
    await other.bringToFront();
    await until();
    await other.close();
    await this.page.bringToFront();
  }

  cookies(): Promise<Cookie[]> {
    return this.controlled.cookies();
  }

  text(): Promise<string> {
    return this.page.evaluate('document.body.innerText') as Promise<string>;
  }

  async close(): Promise<void> {
    await this.controlled.disconnect();
    await this.browser.close();
  }
}
