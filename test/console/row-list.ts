import type { Page } from 'puppeteer-core';
import { untilTrue } from './until-true.js';

/** A page's list of rows, as its reader sees it. */
export class RowList {
  /** @param list selector of the list */
  constructor(
    private readonly page: Page,
    private readonly list: string,
  ) {}

  /** Resolves to the number of rows, and the number of those that are drawn. */
  count(): Promise<{ all: number; drawn: number }> {
    return this.evaluate('({ all: rows().length, drawn: drawn() })');
  }

  /** Scrolls to the end screen by screen. Resolves to the most rows that were drawn on the way. */
  scrollToEnd(): Promise<number> {
    return this.evaluate(`(async () => {
      let most = 0;
      for (let before = -1; before < scrollY;) {
        before = scrollY;
        scrollBy(0, innerHeight);
        await frames();
        most = Math.max(most, drawn());
      }
      return most;
    })()`);
  }

  /** Scrolls to a row, opens it, and focuses it. */
  async read(index: number): Promise<void> {
    await this.evaluate(`(async () => {
      const row = rows()[${index}];
      row.scrollIntoView({ block: 'center' });
      await frames();
      row.querySelector('summary').click();
      row.querySelector('summary').focus();
      await frames();
      globalThis.readRow = row;
    })()`);
  }

  /** Closes the row that is read, and scrolls to the top of the page. */
  async leave(): Promise<void> {
    await this.evaluate(`(async () => {
      readRow.querySelector('summary').click();
      document.activeElement.blur();
      scrollTo(0, 0);
      await frames();
    })()`);
  }

  /** Does something, and resolves to whether the row that is read is still in place, to the pixel, open and focused. */
  async staysWhile(bringAbout: () => Promise<void>): Promise<boolean> {
    const before = await this.readRow();
    await bringAbout();
    const after = await this.readRow();
    const isInPlace = Math.abs(after.top - before.top) <= 1;
    return isInPlace && before.isOpen && before.hasFocus && after.isOpen && after.hasFocus;
  }

  /** Resolves once the first row contains a text. */
  async begins(text: string): Promise<void> {
    await untilTrue(
      this.page,
      `document.querySelector(${JSON.stringify(`${this.list} .row`)})?.innerHTML.includes(${JSON.stringify(text)})`,
    );
  }

  /** Resolves to where in the window the row that is read is, and to whether it is still open and focused. */
  private readRow(): Promise<{ top: number; isOpen: boolean; hasFocus: boolean }> {
    return this.evaluate(`(async () => {
      await frames();
      return {
        top: readRow.getBoundingClientRect().top,
        isOpen: readRow.querySelector('details').open,
        hasFocus: readRow.contains(document.activeElement),
      };
    })()`);
  }

  private async evaluate<T>(code: string): Promise<T> {
    return (await this.page.evaluate(`(() => {
      const rows = () => Array.from(document.querySelectorAll(${JSON.stringify(`${this.list} .row`)}));
      const drawn = () =>
        rows().filter((row) => row.firstElementChild.checkVisibility({ contentVisibilityAuto: true })).length;
      const frames = () =>
        new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
      return ${code};
    })()`)) as T;
  }
}
