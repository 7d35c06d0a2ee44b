import { createContext, type JSX } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

/** What the title ends with. */
const APPLICATION = 'Analytics';

/** A change from one page to another. */
export interface PageChange {
  /** What had the focus when it began; `undefined` once the new page has its heading, and at first. */
  from: Element | undefined;
}

export const PageChanges = createContext<PageChange>({ from: undefined });

/** Another page is shown from now on. */
export function beginPage(change: PageChange): void {
  change.from = document.activeElement ?? document.body;
  document.title = APPLICATION;
}

/**
 * The heading of a page, which names it in the title as well. It gets the focus when the page takes the place of another
 * one: whoever has followed a link with a keyboard or a screen reader goes on there.
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
    // Whoever has gone elsewhere while the page was loaded stays there.
    const isFree = document.activeElement === from || document.activeElement === document.body;
    if (from !== undefined && isFree) heading.current?.focus({ preventScroll: true });
  }, [change]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
