import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** What a button needs that is disabled while it works. */
interface FocusBack {
  button: RefObject<HTMLButtonElement | null>;
  /** Call it before the work begins. */
  onBegin: () => void;
}

/** Returns the element that is to have the focus, or nothing if there is no such element. */
export type Place = () => HTMLElement | null | undefined;

/**
 * Gives the focus back to a button that had it before its work: a disabled button loses the focus. If the work removes
 * the button, the heading of the section or article around it gets the focus.
 *
 * @param next returns the element that gets the focus in place of that heading
 */
export function useFocusBack(isBusy: boolean, next?: Place): FocusBack {
  const button = useRef<HTMLButtonElement>(null);
  /** Whether the button, or a field of its form, had the focus when the current work began. */
  const hadFocus = useRef(false);
  const latest = useRef(next);
  latest.current = next;
  useEffect(() => {
    if (isBusy || !hadFocus.current) return;
    hadFocus.current = false;
    focusIfFree(() => button.current);
  }, [isBusy]);
  useEffect(() => {
    const part = button.current?.closest('section, article');
    return () => {
      const following = latest.current;
      if (!hadFocus.current) return;
      // At this point the button is still on the page, and its replacement is not.
      queueMicrotask(() => {
        focusIfFree(() => following?.() ?? headingOf(part));
      });
    };
  }, []);
  const onBegin = (): void => {
    // Enter in a field begins the work of the button, too.
    const part = button.current?.form ?? button.current;
    hadFocus.current = part?.contains(document.activeElement) === true;
  };
  return { button, onBegin };
}

function focusIfFree(place: Place): void {
  if (document.activeElement === document.body) place()?.focus({ preventScroll: true });
}

/** Returns the heading of a part of the page, or of the page itself once that part is gone. */
function headingOf(part: Element | null | undefined): HTMLElement | null {
  const heading = (part?.isConnected === true ? part : document).querySelector<HTMLElement>('h1, h2');
  // The heading can get the focus, but not with the Tab key.
  heading?.setAttribute('tabindex', '-1');
  return heading;
}
