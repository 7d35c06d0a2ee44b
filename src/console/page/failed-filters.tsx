import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Fields } from './api-requests.js';

/** Texts of the fields, by their names in the API's filter. An empty text matches all. */
export type FailedTexts = Readonly<Record<string, string>>;

/** Fields with a list of values. */
const CHOICES = {
  type: ['track', 'identify', 'page', 'screen', 'group', 'alias', 'delete'],
  class: ['retry', 'permanent'],
};
const LABELS: Readonly<Record<string, string>> = {
  status: 'Status',
  error: 'Error code',
  source: 'Source',
  type: 'Type',
  class: 'Given up because it',
  from: 'From',
  to: 'To',
};
const CLASSES: Readonly<Record<string, string>> = {
  retry: 'was retried until its retry window ended',
  permanent: 'was refused for good',
};

interface FailedFiltersProps {
  texts: FailedTexts;
  onChange: (texts: FailedTexts) => void;
}

export function FailedFilters({ texts, onChange }: FailedFiltersProps): JSX.Element {
  const change = (name: string, value: string): void => {
    onChange({ ...texts, [name]: value });
  };
  return (
    <div class="bar filters" role="search">
      {['status', 'error', 'source', 'from', 'to'].map((name) => (
        <label key={name}>
          {LABELS[name]}{' '}
          <TypedField
            isTime={isTimeName(name)}
            onChange={(text) => {
              change(name, text);
            }}
          />
        </label>
      ))}
      {Object.entries(CHOICES).map(([name, values]) => (
        <label key={name}>
          {LABELS[name]}{' '}
          <select
            value={texts[name] ?? ''}
            onChange={(event) => {
              change(name, event.currentTarget.value);
            }}
          >
            <option value="">all</option>
            {values.map((value) => (
              <option key={value} value={value}>
                {CLASSES[value] ?? value}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}

interface TypedFieldProps {
  isTime: boolean;
  /** Called when the field is left, or with Enter. */
  onChange: (text: string) => void;
}

/** A field that keeps a text while it is being typed and is no filter yet, even if the page is redrawn. */
function TypedField({ isTime, onChange }: TypedFieldProps): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <input
      {...(isTime ? { type: 'datetime-local' } : { size: 8 })}
      value={typed}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
      }}
      onChange={(event) => {
        const text = event.currentTarget.value.trim();
        setTyped(text);
        onChange(text);
      }}
    />
  );
}

/** Returns the filter to send. The API says what is wrong with it. */
export function filterOf(texts: FailedTexts): Fields {
  const given = Object.entries(texts).filter(([, text]) => text !== '');
  return Object.fromEntries(
    given.map(([name, text]) => {
      // A time without a zone is in the reader's zone.
      if (isTimeName(name)) return [name, new Date(text).getTime()];
      return [name, name === 'status' && /^\d+$/.test(text) ? Number(text) : text];
    }),
  );
}

function isTimeName(name: string): boolean {
  return name === 'from' || name === 'to';
}
