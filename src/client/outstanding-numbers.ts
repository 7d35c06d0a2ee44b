/** Numbers that share one page of marks. */
const PAGE_SIZE = 1_024;

interface Page {
  /** One mark per number: 1 while it is outstanding. */
  readonly marks: Uint8Array;
  outstanding: number;
}

/**
 * Hands out numbers in order, and knows which of them are outstanding. They may be settled in any order. A
 * page is dropped when nothing on it is outstanding, so that memory depends on what is outstanding, not on
 * all the numbers ever handed out, even if one number stays outstanding for long.
 */
export class OutstandingNumbers {
  private readonly pages = new Map<number, Page>();
  private current = newPage();
  private latest = 0;
  private low = 1;

  constructor() {
    this.pages.set(0, this.current);
  }

  /** The number that was handed out last; 0 before the first. */
  get last(): number {
    return this.latest;
  }

  /** Every number below this one is settled. */
  get lowest(): number {
    this.low = this.lowestFrom(this.low, this.latest);
    return this.low;
  }

  /** Returns the lowest outstanding number from `from` up to `upTo`, or a number above `upTo` if there is none. */
  lowestFrom(from: number, upTo: number): number {
    let number = from;
    while (number <= upTo) {
      const index = pageOf(number);
      const page = this.pages.get(index);
      if (page === undefined) number = (index + 1) * PAGE_SIZE;
      else if (page.marks[number % PAGE_SIZE] === 1) break;
      else number++;
    }
    return number;
  }

  next(): number {
    const number = ++this.latest;
    const place = number % PAGE_SIZE;
    if (place === 0) {
      if (this.current.outstanding === 0) this.pages.delete(pageOf(number - 1));
      this.current = newPage();
      this.pages.set(pageOf(number), this.current);
    }
    this.current.marks[place] = 1;
    this.current.outstanding++;
    return number;
  }

  settle(number: number): void {
    const index = pageOf(number);
    const page = this.pages.get(index);
    if (page?.marks[number % PAGE_SIZE] !== 1) return;
    page.marks[number % PAGE_SIZE] = 0;
    page.outstanding--;
    if (page.outstanding === 0 && page !== this.current) this.pages.delete(index);
  }

  /** Returns how many numbers up to and including this one are outstanding. */
  countUpTo(number: number): number {
    const last = pageOf(number);
    let count = 0;
    for (const [index, page] of this.pages) {
      if (index < last) count += page.outstanding;
      if (index === last) for (let n = 0; n <= number % PAGE_SIZE; n++) count += page.marks[n] ?? 0;
      if (index >= last) break;
    }
    return count;
  }
}

function pageOf(number: number): number {
  return Math.floor(number / PAGE_SIZE);
}

function newPage(): Page {
  return { marks: new Uint8Array(PAGE_SIZE), outstanding: 0 };
}
