import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationDetails } from '../../destinations/destinations.types.js';
import type { OptionProblem } from '../../errors/setup.errors.js';
import { ApiError, type Fields } from './api.js';
import { fieldsOf, type FormField, formFields, textsOf } from './destination-fields.js';
import { Problem } from './parts.js';

interface FormProps {
  /** What is changed; `undefined` for a new one. */
  destination?: DestinationDetails;
  isOperator: boolean;
  save: (fields: Fields) => Promise<void>;
}

/** The fields of a destination, each with what is wrong with it. */
export function DestinationForm({ destination, isOperator, save }: FormProps): JSX.Element {
  const [texts, setTexts] = useState(textsOf(destination));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const problems = error instanceof ApiError ? error.problems : [];

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await save(fieldsOf(texts, destination));
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };

  return (
    <form noValidate onSubmit={(event) => void submit(event)}>
      {formFields(destination, isOperator).map((field) => (
        <Field
          key={field.name}
          field={field}
          value={texts[field.name] ?? ''}
          problems={problems.filter(({ path }) => path.split(/[.[]/)[0] === field.name)}
          onChange={(value) => {
            setTexts({ ...texts, [field.name]: value });
          }}
        />
      ))}
      <Problem error={error} />
      <button type="submit" disabled={isBusy}>
        {destination === undefined ? 'Add' : 'Save'}
      </button>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  value: string;
  problems: readonly OptionProblem[];
  onChange: (value: string) => void;
}

function Field({ field: { name, label, hint, isLong }, value, problems, onChange }: FieldProps): JSX.Element {
  const props = {
    id: name,
    value,
    'aria-describedby': `${name}-hint`,
    'aria-invalid': problems.length > 0,
    onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      onChange(event.currentTarget.value);
    },
  };
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {isLong === true ? <textarea rows={3} {...props} /> : <input {...props} />}
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
