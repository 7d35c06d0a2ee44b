/**
 * Tells whether pages come again that have come before. Only one of them is remembered at a time, each for twice as many
 * pages as the one before, so that any number of pages takes no memory (Brent's algorithm).
 */
export class PassedPages {
  private remembered: string | undefined;
  /** Since it is remembered. */
  private pages = 0;
  private limit = 1;

  /** Whether a page has come before. It may be found only after several rounds. @param first the first user in it */
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
