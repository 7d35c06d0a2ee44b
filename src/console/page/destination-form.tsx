import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import type { OptionProblem } from '../../errors/setup.errors.js';
import { ApiError, type Fields } from './api.js';
import {
  fieldsOf,
  type FormField,
  formFields,
  removalOf,
  type Texts,
  textsOf,
} from './destination-fields.js';
import { Problem } from './parts.js';

interface FormProps {
  /** What is changed; `undefined` for a new one. */
  destination?: DestinationDetails;
  isOperator: boolean;
  save: (fields: Fields) => Promise<void>;
}

/** The fields of a destination, each with what is wrong with it. */
export function DestinationForm({ destination, isOperator, save }: FormProps): JSX.Element {
  // As it was when the form was opened: saving it must not undo what somebody else has changed since.
  const [edited] = useState(destination);
  const [texts, setTexts] = useState(textsOf(edited));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const problems = error instanceof ApiError ? error.problems : [];

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await save(fieldsOf(texts, edited));
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <form noValidate onSubmit={(event) => void submit(event)}>
      {formFields(edited, isOperator).map((field) => (
        <Field
          key={field.name}
          field={field}
          texts={texts}
          problems={problems.filter(({ path }) => path.split(/[.[]/)[0] === field.name)}
          onChange={(name, text) => {
            setTexts({ ...texts, [name]: text });
          }}
        />
      ))}
      <Problem error={error} />
      <button type="submit" disabled={isBusy}>
        {edited === undefined ? 'Add' : 'Save'}
      </button>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  texts: Texts;
  problems: readonly OptionProblem[];
  onChange: (name: string, text: string) => void;
}

function Field({ field, texts, problems, onChange }: FieldProps): JSX.Element {
  const { name, label, hint, isLong, removal } = field;
  const isRemoved = (texts[removalOf(name)] ?? '') !== '';
  const props = {
    id: name,
    value: texts[name] ?? '',
    disabled: isRemoved,
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
      </small>
    </div>
  );
}
