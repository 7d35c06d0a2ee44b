import type { JSX, TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { OptionProblem } from '../../errors/option-problem.js';
import { ApiError, type Fields, isUnanswered } from './api-requests.js';
import { changedMeanwhile, type Draft, fieldsIn, follow, textsIn } from './destination-draft.js';
import { type FormField, formFields, removalOf, type Texts } from './destination-fields.js';
import { Problem } from './parts.js';
import { useFocusBack } from './use-focus-back.js';

/** Maximum number of retries to save a destination that somebody else keeps changing. */
const MAX_TRIES = 5;

interface FormProps {
  /** The destination that is changed; `undefined` for a new one. */
  destination?: DestinationDetails;
  isOperator: boolean;
  /**
   * @param fields the changed fields, or all fields of a new destination
   * @param version version of the destination that the changes are based on
   */
  save: (fields: Fields, version: number | undefined) => Promise<void>;
  /** Reads the destination as it is now. */
  latest?: () => Promise<DestinationDetails>;
}

/** The fields of a destination, each with its problems. */
export function DestinationForm({ destination, isOperator, save, latest }: FormProps): JSX.Element {
  const [draft, setDraft] = useState<Draft>({ base: destination, typed: {} });
  const [meanwhile, setMeanwhile] = useState<Texts>({});
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const { button, onBegin } = useFocusBack(isBusy);
  const problems = error instanceof ApiError ? error.problems : [];
  const texts = textsIn(draft);

  useEffect(() => {
    setDraft((before) => follow(before, destination));
  }, [destination]);

  /** Saves despite changes by others: those to other fields stay, and those to the same fields are shown first. */
  const saveOver = async (tried: Draft, tries: number): Promise<void> => {
    const fields = fieldsIn(tried);
    const version = tried.base?.version;
    try {
      await save(fields, version);
    } catch (thrown) {
      if (version !== undefined && isUnanswered(thrown))
        setDraft((now) => ({ ...now, unanswered: { fields, version } }));
      if (!isChange(thrown) || latest === undefined || tries === 0) throw thrown;
      const base = await latest();
      const found = changedMeanwhile(tried, base);
      setMeanwhile(found);
      setDraft((now) => ({ ...now, base }));
      if (Object.keys(found).length > 0) throw changedError();
      await saveOver({ ...tried, base }, tries - 1);
    }
  };

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    onBegin();
    setBusy(true);
    setError(undefined);
    setMeanwhile({});
    try {
      await saveOver(draft, MAX_TRIES);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <form noValidate onSubmit={(event) => void submit(event)}>
      {formFields(draft.base, isOperator).map((field) => (
        <Field
          key={field.name}
          field={field}
          texts={texts}
          problems={problems.filter(({ path }) => path.split(/[.[]/)[0] === field.name)}
          meanwhile={meanwhile[field.name]}
          isBusy={isBusy}
          onChange={(name, text) => {
            setDraft((before) => ({ ...before, typed: { ...before.typed, [name]: text } }));
          }}
        />
      ))}
      <Problem error={error} />
      <button ref={button} type="submit" disabled={isBusy}>
        {draft.base === undefined ? 'Add' : 'Save'}
      </button>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  texts: Texts;
  problems: readonly OptionProblem[];
  /** Text that somebody else has given the field meanwhile. */
  meanwhile: string | undefined;
  /** Whether the form is being saved. The field then takes no input, which would be lost, but keeps the focus. */
  isBusy: boolean;
  onChange: (name: string, text: string) => void;
}

function Field({ field, texts, problems, meanwhile, isBusy, onChange }: FieldProps): JSX.Element {
  const { name, label, hint, isLong, isSecret, removal } = field;
  const isRemoved = (texts[removalOf(name)] ?? '') !== '';
  const props = {
    id: name,
    value: texts[name] ?? '',
    disabled: isRemoved,
    readOnly: isBusy,
    'aria-describedby': `${name}-hint`,
    'aria-invalid': problems.length > 0,
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      onChange(name, event.currentTarget.value);
    },
  };
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {isLong === true ? <textarea rows={3} {...props} /> : <input {...props} />}
      {removal !== undefined && (
        <label class="removal">
          <input
            type="checkbox"
            checked={isRemoved}
            onClick={(event) => {
              if (isBusy) event.preventDefault();
            }}
            onChange={(event) => {
              onChange(removalOf(name), event.currentTarget.checked ? 'yes' : '');
            }}
          />{' '}
          {removal}
        </label>
      )}
      <small id={`${name}-hint`}>
        {hint}
        {problems.map(({ path, expected, given }) => (
          <span key={path} class="problem">
            Expected {expected}, got {given}.
          </span>
        ))}
        {meanwhile !== undefined && (
          <span class="problem">
            {isSecret === true
              ? 'It may have been changed meanwhile: values are not shown.'
              : 'It was changed meanwhile.'}{' '}
            Now it is {meanwhile === '' ? 'empty' : <code>{meanwhile}</code>}.
          </span>
        )}
      </small>
    </div>
  );
}

function isChange(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === 'DESTINATION_CHANGED';
}

function changedError(): ApiError {
  return new ApiError(
    'DESTINATION_CHANGED',
    'Nothing was saved: somebody else may have changed the same fields meanwhile. Their current values are shown ' +
      'beside them. Save again to replace those values.',
  );
}
