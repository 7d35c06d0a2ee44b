import type { DestinationDetails } from '../../stored-destinations/destinations.types.js';
import { ApiError, type Fields } from './api-requests.js';
import { indented } from './json-text.js';

/** The texts of a form's fields, by the names of the fields. */
export type Texts = Readonly<Record<string, string>>;

/** A field as the form shows it. */
export interface FormField {
  name: string;
  label: string;
  hint: string;
  isLong?: boolean;
  /** Whether the values of the field are never shown, so a change of them cannot be seen. */
  isSecret?: boolean;
  /** Label of a checkbox that removes the values of a field, if an empty text keeps them. */
  removal?: string;
}

/** Returns the name of the text for a field's removal checkbox. The text is empty unless the checkbox is checked. */
export function removalOf(name: string): string {
  return `${name}-removal`;
}

/** @param destination the destination that is changed; `undefined` for a new one */
export function formFields(destination: DestinationDetails | undefined, isOperator: boolean): FormField[] {
  const names = destination?.headers ?? [];
  const kept =
    names.length === 0
      ? ''
      : ` Current headers: ${names.join(', ')}. Leave the field empty to keep them; what you enter replaces them all.`;
  const removal = names.length === 0 ? {} : { removal: `Remove ${names.join(', ')}` };
  return [
    {
      name: 'urls',
      label: 'URLs',
      hint: 'One per line, 1 to 5. An event counts as delivered when one of them accepts it.',
      isLong: true,
    },
    {
      name: 'events',
      label: 'Events',
      hint: 'Names of events, one per line; a * at the end stands for any ending. Empty: all.',
      isLong: true,
    },
    {
      name: 'types',
      label: 'Types',
      hint: 'Comma-separated types of messages, such as track, identify, page, group. Empty: all, or only track if events are named.',
    },
    { name: 'name', label: 'Name', hint: 'Shown in the list.' },
    { name: 'description', label: 'Description', hint: 'For your own use.' },
    {
      name: 'headers',
      label: 'Headers',
      hint: `Sent with each request, one per line, as name: value. Values are never shown again.${kept}`,
      isLong: true,
      isSecret: true,
      ...removal,
    },
    {
      name: 'sources',
      label: 'Sources',
      hint: 'Sources whose events it gets, one per line. Empty: all.',
      isLong: true,
    },
    {
      name: 'timeout',
      label: 'Timeout',
      hint: 'Milliseconds for a request and its answer, at most 60000. Empty: 5000.',
    },
    {
      name: 'retryWindow',
      label: 'Retried for',
      hint: 'Milliseconds, at most 604800000 (7 days). 0: not at all. Empty: 14400000 (4 hours).',
    },
    {
      name: 'retryStatuses',
      label: 'Retried after',
      hint: 'Comma-separated statuses; 5xx stands for 500 to 599. Empty: 5xx, 408, 425, 429.',
    },
    {
      name: 'rateLimit',
      label: 'Rate limit',
      hint: 'Maximum number of requests per second. Empty: no limit.',
    },
    { name: 'metadata', label: 'Metadata', hint: 'A JSON object, for your own use.', isLong: true },
    ...(destination === undefined && isOperator
      ? [{ name: 'tenant', label: 'Tenant', hint: 'Tenant whose events it gets. Empty: all events.' }]
      : []),
  ];
}

export function textsOf(destination: DestinationDetails | undefined): Texts {
  const { urls, events, types, name, description, sources, retryStatuses, metadata } = destination ?? {};
  return {
    urls: urls?.join('\n') ?? '',
    events: events?.join('\n') ?? '',
    types: types?.join(', ') ?? '',
    name: name ?? '',
    description: description ?? '',
    sources: sources?.join('\n') ?? '',
    timeout: String(destination?.timeout ?? ''),
    retryWindow: String(destination?.retryWindow ?? ''),
    retryStatuses: retryStatuses?.join(', ') ?? '',
    rateLimit: String(destination?.rateLimit ?? ''),
    metadata: metadata === undefined ? '' : indented(metadata),
  };
}

/**
 * Returns the fields as the API takes them. An empty field is left out for a new destination, and reset for a
 * destination that is changed.
 *
 * @throws ApiError for a text that cannot be turned into a field
 */
export function fieldsOf(texts: Texts, destination: DestinationDetails | undefined): Fields {
  const none = destination === undefined ? undefined : null;
  const text = (name: string): string => texts[name]?.trim() ?? '';
  const given = <T>(name: string, read: (value: string) => T): T | null | undefined =>
    text(name) === '' ? none : read(text(name));
  return {
    urls: linesOf(text('urls')),
    events: given('events', linesOf),
    types: given('types', partsOf),
    name: given('name', String),
    description: given('description', String),
    sources: given('sources', linesOf),
    timeout: given('timeout', numberIn),
    retryWindow: given('retryWindow', numberIn),
    retryStatuses: given('retryStatuses', (value) => partsOf(value).map(numberIn)),
    rateLimit: given('rateLimit', numberIn),
    metadata: given('metadata', jsonOf),
    ...headersIn(text('headers'), text(removalOf('headers')) !== ''),
    ...(text('tenant') !== '' && { tenant: text('tenant') }),
  };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function partsOf(text: string): string[] {
  return linesOf(text.replaceAll(',', '\n'));
}

/** Returns a text that is no number unchanged: the API says what is wrong with it. */
function numberIn(text: string): number | string {
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

/** Leaves the field out if the headers stay as they are, since the page does not know their values. */
function headersIn(text: string, areRemoved: boolean): Fields {
  if (areRemoved) return { headers: null };
  return text === '' ? {} : { headers: headersOf(text) };
}

function headersOf(text: string): Record<string, string> {
  const headers = linesOf(text).map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon === -1) throw wrong('headers', 'a colon between name and value', 'a line without one');
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  const fields = Object.fromEntries(headers);
  // An object keeps only the last of several equal names. The API itself refuses names that differ only in case.
  if (Object.keys(fields).length < headers.length)
    throw wrong('headers', 'each header once', 'a name that occurs twice');
  return fields;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong('metadata', 'a JSON object', 'a text that is not JSON');
  }
}

function wrong(path: string, expected: string, given: string): ApiError {
  return new ApiError('INVALID_REQUEST', `The field ${path} is wrong.`, [{ path, expected, given }]);
}
