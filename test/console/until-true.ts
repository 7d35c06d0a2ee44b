import type { Page } from 'puppeteer-core';

/** Milliseconds between checks. A check in each frame would lay out the whole page's text 60 times a second. */
const INTERVAL = 50;

/** Resolves once an expression is true in a page. */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression, { polling: INTERVAL });
}
