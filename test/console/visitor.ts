import puppeteer, { type Browser as Controlled, type Page } from 'puppeteer-core';
import { Browser } from '../support/browser.js';

/** Somebody who is signed in, and looks at pages in a browser of their own. */
export class Visitor {
  /** What the browser itself complained about: refused scripts, failed requests, errors of the page. */
  readonly complaints: string[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly controlled: Controlled,
    readonly page: Page,
  ) {}

  static async open(url: string, user: string): Promise<Visitor> {
    const browser = await Browser.open('about:blank', { hosts: {} });
    const controlled = await puppeteer.connect({ browserWSEndpoint: await browser.controlUrl() });
    await controlled.setCookie({ name: 'user', value: user, domain: new URL(url).hostname });
    const page = await controlled.newPage();
    // A test has a time limit of its own.
    page.setDefaultTimeout(0);
    const visitor = new Visitor(browser, controlled, page);
    page.on('pageerror', (error) => visitor.complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') visitor.complaints.push(message.text());
    });
    // Every question is answered with yes.
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(url);
    return visitor;
  }

  /** Resolves once the page shows a text. */
  async sees(text: string): Promise<void> {
    await this.page.locator(`::-p-text(${text})`).wait();
  }

  async click(name: string): Promise<void> {
    await this.page.locator(`::-p-aria(${name})`).click();
  }

  async fill(label: string, text: string): Promise<void> {
    await this.page.locator(`::-p-aria(${label})`).fill(text);
  }

  text(): Promise<string> {
    return this.page.evaluate('document.body.innerText') as Promise<string>;
  }

  async close(): Promise<void> {
    await this.controlled.disconnect();
    await this.browser.close();
  }
}
