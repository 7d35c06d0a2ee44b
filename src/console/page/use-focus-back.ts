import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Of a button that is disabled while it works. */
interface FocusBack {
  button: RefObject<HTMLButtonElement | null>;
  /** Call it before the work begins. */
  onBegin: () => void;
}

/** What is to have the focus; nothing if there is no such thing. */
export type Place = () => HTMLElement | null | undefined;

/**
 * Gives a button the focus back that it had before it worked: while it is disabled, nothing has the focus. Where the
 * button goes away with its work, the heading of what it stood in gets it.
 *
 * @param next gets it in place of that heading
 */
export function useFocusBack(isBusy: boolean, next?: Place): FocusBack {
  const button = useRef<HTMLButtonElement>(null);
  /** Whether it, or a field of its form, had the focus when the work began that has not ended. */
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
      // It is still on the page now, and what is in its place is not yet.
      queueMicrotask(() => {
        focusIfFree(() => following?.() ?? headingOf(part));
      });
    };
  }, []);
  const onBegin = (): void => {
    // Enter in a field begins what the button does.
    const part = button.current?.form ?? button.current;
    hadFocus.current = part?.contains(document.activeElement) === true;
  };
  return { button, onBegin };
}

function focusIfFree(place: Place): void {
  if (document.activeElement === document.body) place()?.focus({ preventScroll: true });
}

/** Of a part of the page, or of the page itself once that part is gone. */
function headingOf(part: Element | null | undefined): HTMLElement | null {
  const heading = (part?.isConnected === true ? part : document).querySelector<HTMLElement>('h1, h2');
  // No one comes to it with the Tab key.
  heading?.setAttribute('tabindex', '-1');
  return heading;
}
