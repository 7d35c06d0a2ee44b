import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import type { DestinationDetails } from '../../destinations/destinations.types.js';
import { ApiError, type Fields } from './api.js';
import { Problem } from './parts.js';

interface FormProps {
  /** What is changed; `undefined` for a new one. */
  destination?: DestinationDetails;
  isOperator: boolean;
  save: (fields: Fields) => Promise<void>;
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** The fields of a destination, each with what is wrong with it. */
export function DestinationForm({ destination, isOperator, save }: FormProps): JSX.Element {
  const isNew = destination === undefined;
  const [texts, setTexts] = useState<Record<string, string>>({
    urls: destination?.urls.join('\n') ?? '',
    name: destination?.name ?? '',
    description: destination?.description ?? '',
    events: destination?.events?.join('\n') ?? '',
    tenant: '',
  });
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

  const field = (name: string, label: string, hint: string, isLong = false): JSX.Element => {
    const wrong = problems.filter(({ path }) => path === name || path.startsWith(`${name}[`));
    const props = {
      id: name,
      value: texts[name] ?? '',
      'aria-describedby': `${name}-hint`,
      'aria-invalid': wrong.length > 0,
      onInput: (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => {
        setTexts({ ...texts, [name]: event.currentTarget.value });
      },
    };
    return (
      <div class="field">
        <label for={name}>{label}</label>
        {isLong ? <textarea rows={3} {...props} /> : <input {...props} />}
        <small id={`${name}-hint`}>
          {hint}
          {wrong.map(({ path, expected, given }) => (
            <span key={path} class="problem">
              Expected {expected}, got {given}.
            </span>
          ))}
        </small>
      </div>
    );
  };

  return (
    <form noValidate onSubmit={(event) => void submit(event)}>
      {field('urls', 'URLs', 'One a line, 1 to 5. Each event is delivered when one of them takes it.', true)}
      {field(
        'events',
        'Events',
        'Names of events, one a line; a * at the end stands for any ending. Empty: all.',
        true,
      )}
      {field('name', 'Name', 'Shown in the list.')}
      {field('description', 'Description', 'For yourself.')}
      {isNew && isOperator && field('tenant', 'Tenant', 'Whose events it gets. Empty: those of all.')}
      <Problem error={error} />
      <button type="submit" disabled={isBusy}>
        {isNew ? 'Add' : 'Save'}
      </button>
    </form>
  );
}

/** What was left empty is not sent for a new destination, and reset for one that is changed. */
function fieldsOf(texts: Record<string, string>, destination: DestinationDetails | undefined): Fields {
  const { urls = '', events = '', name = '', description = '', tenant = '' } = texts;
  const none = destination === undefined ? undefined : null;
  const names = linesOf(events);
  return {
    urls: linesOf(urls),
    events: names.length === 0 ? none : names,
    name: name === '' ? none : name,
    description: description === '' ? none : description,
    ...(tenant !== '' && { tenant }),
    ...(destination !== undefined && { version: destination.version }),
  };
}
