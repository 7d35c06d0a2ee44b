import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

const YES = 'yes';

interface QuestionProps {
  text: string;
  /** What is done, as the button says it. */
  children: ComponentChildren;
  onAnswer: (isYes: boolean) => void;
}

/**
 * Asks before something is done. The browser's own `confirm` says no by itself, and asks nobody, in a frame of another
 * origin in some browsers, and in a frame with a `sandbox` in all.
 */
export function Question({ text, children, onAnswer }: QuestionProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const textId = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={textId}
      onClose={(event) => {
        onAnswer(event.currentTarget.returnValue === YES);
      }}
    >
      <p id={textId}>{text}</p>
      <div class="bar">
        {/* It has the focus, since it comes first: a key that is held down must not answer yes. */}
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" onClick={() => dialog.current?.close(YES)}>
          {children}
        </button>
      </div>
    </dialog>
  );
}
