import type { Page } from 'puppeteer-core';

/** In milliseconds. With each frame, as is usual, the text of the whole page would be laid out 60 times a second. */
const INTERVAL = 50;

/** Resolves once an expression is true in a page. */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression, { polling: INTERVAL });
}
