import type { JSX } from 'preact';
import type { LiveEvent } from '../../live/live-event.js';
import { searchFor } from './searched-text.js';
import type { ShownCall } from './use-live.js';

/** Which calls are shown. An empty field matches all. */
export interface LiveFilter {
  text: string;
  outcome: string;
  type: string;
  name: string;
  source: string;
  tenant: string;
  /** A user id or an anonymous id. */
  user: string;
}

export const NO_FILTER: LiveFilter = {
  text: '',
  outcome: '',
  type: '',
  name: '',
  source: '',
  tenant: '',
  user: '',
};

/** Fields that offer a list of the calls' values. */
const FIELDS = {
  outcome: 'Outcome',
  type: 'Type',
  name: 'Name',
  source: 'Source',
  tenant: 'Tenant',
} as const;
type Field = keyof typeof FIELDS;

interface LiveFiltersProps {
  filter: LiveFilter;
  /** Calls whose values the lists offer. */
  calls: readonly LiveEvent[];
  isOperator: boolean;
  onChange: (filter: LiveFilter) => void;
}

export function LiveFilters({ filter, calls, isOperator, onChange }: LiveFiltersProps): JSX.Element {
  const fields = (Object.keys(FIELDS) as Field[]).filter((field) => isOperator || field !== 'tenant');
  const input = (field: 'text' | 'user', label: string): JSX.Element => (
    <label>
      {label}{' '}
      <input
        type="search"
        value={filter[field]}
        onInput={(event) => {
          onChange({ ...filter, [field]: event.currentTarget.value });
        }}
      />
    </label>
  );
  return (
    <div class="bar filters" role="search">
      {input('text', 'Text')}
      {input('user', 'User')}
      {fields.map((field) => (
        <label key={field}>
          {FIELDS[field]}{' '}
          <select
            value={filter[field]}
            onChange={(event) => {
              onChange({ ...filter, [field]: event.currentTarget.value });
            }}
          >
            <option value="">all</option>
            {choices(field, filter, calls).map((value) => (
              <option key={value} value={value}>
                {value}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}

/** Returns the values of the calls and the chosen value, whose calls may have gone. */
function choices(field: Field, filter: LiveFilter, calls: readonly LiveEvent[]): string[] {
  const values = new Set(calls.map((call) => call[field] ?? ''));
  return [...values.add(filter[field])].filter((value) => value !== '').sort();
}

/** Returns a function that tells whether a call is shown. */
export function matcherOf(filter: LiveFilter): (call: ShownCall) => boolean {
  const { text, user } = filter;
  const isFound = searchFor(text);
  const given = (Object.keys(FIELDS) as Field[]).filter((field) => filter[field] !== '');
  return (call) =>
    given.every((field) => call[field] === filter[field]) &&
    (user === '' || call.userId === user || call.anonymousId === user) &&
    isFound(call.searched);
}
