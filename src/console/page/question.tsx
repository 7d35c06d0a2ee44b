import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

const YES = 'yes';

interface QuestionProps {
  text: string;
  /** Whether saying yes cannot be undone. */
  isFinal: boolean;
  /** Label of the button that says yes. */
  children: ComponentChildren;
  onAnswer: (isYes: boolean) => void;
}

/**
 * Asks before something is done. The browser's own `confirm` says no without asking: some browsers do so in a frame of
 * another origin, and all browsers in a frame with a `sandbox`.
 */
export function Question({ text, isFinal, children, onAnswer }: QuestionProps): JSX.Element {
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
        {/* Comes first, and so has the focus: a key that is held down must not answer yes. */}
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          class={isFinal ? 'danger' : undefined}
          onClick={() => dialog.current?.close(YES)}
        >
          {children}
        </button>
      </div>
    </dialog>
  );
}
