import type { JSX, TargetedEvent } from 'preact';
import type { Fields } from './api-requests.js';

/** What was filled in, by the names of the API's filter; what is empty matches all. */
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
  class: 'Gave up because it',
  from: 'From',
  to: 'To',
};
const CLASSES: Readonly<Record<string, string>> = {
  retry: 'was tried until the time was over',
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
      {['status', 'error', 'source', 'from', 'to'].map((name) => {
        const props = {
          value: texts[name] ?? '',
          onChange: (event: TargetedEvent<HTMLInputElement>) => {
            change(name, event.currentTarget.value.trim());
          },
        };
        return (
          <label key={name}>
            {LABELS[name]}{' '}
            {isTime(name) ? <input type="datetime-local" {...props} /> : <input size={8} {...props} />}
          </label>
        );
      })}
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

/** The filter that is sent. The API says what is wrong with it. */
export function filterOf(texts: FailedTexts): Fields {
  const given = Object.entries(texts).filter(([, text]) => text !== '');
  return Object.fromEntries(
    given.map(([name, text]) => {
      // A time without a zone is one of the reader's.
      if (isTime(name)) return [name, new Date(text).getTime()];
      return [name, name === 'status' && /^\d+$/.test(text) ? Number(text) : text];
    }),
  );
}

function isTime(name: string): boolean {
  return name === 'from' || name === 'to';
}
