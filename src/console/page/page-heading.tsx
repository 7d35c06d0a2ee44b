import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

/** End of the document's title. */
const APPLICATION = 'Analytics';

/** A change from one page to another. */
export interface PageChange {
  /** Element with the focus when the change began; `undefined` once the new page has its heading, and at first. */
  from: Element | undefined;
}

export const PageChanges = createContext<PageChange>({ from: undefined });

/** Begins the change to another page. */
export function beginPage(change: PageChange): void {
  change.from = document.activeElement ?? document.body;
  document.title = APPLICATION;
}

/**
 * The heading of a page, which also names the page in the document's title. The heading gets the focus when the page
 * replaces another page, so that a reader with a keyboard or a screen reader continues there.
 */
export function PageHeading({ children }: { children: string }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const change = useContext(PageChanges);
  useEffect(() => {
    document.title = `${children} – ${APPLICATION}`;
  }, [children]);
  useEffect(() => {
    const { from } = change;
    change.from = undefined;
    // A reader who has moved the focus while the page was loading keeps it.
    const isFree = document.activeElement === from || document.activeElement === document.body;
    if (from !== undefined && isFree) heading.current?.focus({ preventScroll: true });
  }, [change]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
