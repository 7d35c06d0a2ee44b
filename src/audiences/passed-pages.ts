/**
 * Detects when pages start to repeat. Remembers only one page at a time, each for twice as many pages as the page
 * before, so that memory use does not depend on the number of pages (Brent's algorithm).
 */
export class PassedPages {
  private remembered: string | undefined;
  /** Number of pages since `remembered` was set. */
  private pages = 0;
  private limit = 1;

  /** Whether a page has come before; perhaps noticed only after several rounds. @param first the first user in it */
  comesAgain(first: string): boolean {
    if (first === this.remembered) return true;
    if (++this.pages === this.limit) {
      this.remembered = first;
      this.pages = 0;
      this.limit *= 2;
    }
    return false;
  }
}
