import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Of a button that is disabled while it works. */
interface FocusBack {
  button: RefObject<HTMLButtonElement | null>;
  /** Call it before the work begins. */
  onBegin: () => void;
}

/** Gives a button the focus back that it had before it worked: while it is disabled, nothing has the focus. */
export function useFocusBack(isBusy: boolean): FocusBack {
  const button = useRef<HTMLButtonElement>(null);
  const hadFocus = useRef(false);
  useEffect(() => {
    if (!isBusy && hadFocus.current && document.activeElement === document.body) {
      button.current?.focus({ preventScroll: true });
    }
  }, [isBusy]);
  const onBegin = (): void => {
    hadFocus.current = document.activeElement === button.current;
  };
  return { button, onBegin };
}
