import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Question } from './question.js';
import type { Connection } from './stream-client.js';
import { type Place, useFocusBack } from './use-focus-back.js';
import type { Loaded } from './use-loaded.js';

/** A time, in the reader's time zone. */
export function Time({ at }: { at: number }): JSX.Element {
  const date = new Date(at);
  return <time dateTime={date.toISOString()}>{date.toLocaleString()}</time>;
}

/** Says what went wrong. */
export function Problem({ error }: { error: Error | undefined }): JSX.Element | null {
  return error === undefined ? null : (
    <p class="problem" role="alert">
      {error.message}
    </p>
  );
}

/** Shown in place of something that is being loaded, or that could not be loaded. */
export function NotLoaded({ loaded: { error, reload } }: { loaded: Loaded<unknown> }): JSX.Element {
  if (error === undefined) return <p>Loading …</p>;
  return (
    <section>
      <Problem error={error} />
      <Action run={reload}>Try again</Action>
    </section>
  );
}

interface ActionProps {
  run: () => Promise<unknown>;
  children: ComponentChildren;
  /** Asked before `run` is called. If the function resolves to `undefined`, nothing is asked and nothing is run. */
  question?: string | (() => Promise<string | undefined>);
  /** Where the focus goes if the action removes the button. @default the heading of what it stands in */
  next?: Place;
  /** Whether the action cannot be undone. The button shows that. @default false */
  isFinal?: boolean;
}

/** A question, and the callback for its answer. */
interface Asked {
  text: string;
  answer: (isYes: boolean) => void;
}

/** A button that is disabled while its action runs, and that shows what went wrong. */
export function Action({ run, children, question, next, isFinal = false }: ActionProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const [asked, setAsked] = useState<Asked>();
  const { button, onBegin } = useFocusBack(isBusy, next);
  const ask = async (text: string): Promise<boolean> => {
    const isYes = await new Promise<boolean>((answer) => {
      setAsked({ text, answer });
    });
    setAsked(undefined);
    return isYes;
  };
  const click = async (): Promise<void> => {
    onBegin();
    setBusy(true);
    setError(undefined);
    try {
      const text = typeof question === 'function' ? await question() : question;
      if (question === undefined || (text !== undefined && (await ask(text)))) await run();
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={isFinal ? 'danger' : undefined}
        disabled={isBusy}
        onClick={() => void click()}
      >
        {children}
      </button>
      {asked !== undefined && (
        <Question text={asked.text} isFinal={isFinal} onAnswer={asked.answer}>
          {children}
        </Question>
      )}
      <Problem error={error} />
    </>
  );
}

/** Says that the page does not update by itself. Stands beside the page, so that nothing moves. */
export function ConnectionNotice({ connection }: { connection: Connection }): JSX.Element | null {
  const { state, error } = connection;
  if (state === 'connecting' || state === 'watching') return null;
  return (
    <p class="notice problem" role="status">
      {error?.message} {state === 'away' ? 'Retrying automatically.' : 'This page no longer updates.'}
    </p>
  );
}

interface DetailsProps {
  summary: ComponentChildren;
  children: () => ComponentChildren;
}

/** A line with contents that are rendered only while it is open: a list may have a thousand such lines. */
export function Details({ summary, children }: DetailsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}

/** A secret that is shown once. */
export function Secret({ text }: { text: string }): JSX.Element {
  return (
    <section role="status">
      <p>This is the signing secret. It is shown only now: hand it to the receiver.</p>
      <Copyable text={text} />
    </section>
  );
}

/** A text with a button that copies the text, or selects it if the browser does not let the page copy. */
export function Copyable({ text }: { text: string }): JSX.Element {
  const [done, setDone] = useState<{ label: string; with: string }>();
  const shown = useRef<HTMLPreElement>(null);
  return (
    <div class="copyable">
      <pre ref={shown} tabIndex={0}>
        {text}
      </pre>
      <Action
        run={async () => {
          try {
            await navigator.clipboard.writeText(text);
            setDone({ label: 'Copied', with: text });
          } catch {
            // Without TLS there is no clipboard, and a frame of another origin may not be allowed to use it.
            if (shown.current !== null) getSelection()?.selectAllChildren(shown.current);
            setDone({ label: 'Selected: press Ctrl+C', with: text });
          }
        }}
      >
        {/* The text may have changed since it was copied. */}
        {done?.with === text ? done.label : 'Copy'}
      </Action>
    </div>
  );
}
