import type { OptionProblem } from '../errors/option-problem.js';
import { isMessageType, MESSAGE_TYPES } from '../messages/message-builders.js';
import { isDeeper } from '../shared/is-deeper.js';
import type { DestinationRecord } from './destination-store.js';
import { describe, isRecord, OptionReader } from './option-reader.js';
import { type RequestOptions, resolveRequestOptions } from './resolve-webhooks.js';
import type { ResolvedSource } from './resolved-options.js';
import { isTenantName, TENANT_NAME } from './tenant-name.js';

/** The fields that a caller of `DestinationsService` may give. */
export const DESTINATION_FIELDS = [
  'tenant',
  'name',
  'description',
  'urls',
  'headers',
  'sharedSecret',
  'standardWebhooks',
  'events',
  'types',
  'sources',
  'timeout',
  'retryWindow',
  'retryStatuses',
  'rateLimit',
  'metadata',
  'enabled',
] as const satisfies (keyof DestinationRecord)[];

/** Limits of what customers may write. */
const MAX_NAME = 200;
const MAX_DESCRIPTION = 2_000;
const MAX_PATTERNS = 100;
const MAX_PATTERN = 200;
const MAX_TIMEOUT = 60_000;
const MAX_RETRY_WINDOW = 7 * 86_400_000;
/** Bytes of all fields together, as JSON. */
const MAX_BYTES = 16_384;
/** Levels of nested objects and arrays: code that reads or prints them recurses and indents once per level. */
const MAX_DEPTH = 100;
const PATTERN = `an event name of at most ${MAX_PATTERN} characters, with \`*\` only at its end`;

export interface DestinationRules {
  /** The sources of the application. */
  sources: readonly Pick<ResolvedSource, 'name' | 'tenant'>[];
  allowPrivateNetwork: boolean;
}

/**
 * Returns everything that is wrong with the fields of a destination; empty if the destination may be stored.
 *
 * @param stored the tenant of the destination, and the sources that it already has
 */
export function destinationProblems(
  fields: Record<string, unknown>,
  known: readonly string[],
  { sources, allowPrivateNetwork }: DestinationRules,
  stored: Pick<DestinationRecord, 'tenant' | 'sources'>,
): OptionProblem[] {
  const options = new OptionReader(fields, '', []);
  options.onlyKnows(known);
  if (fields.tenant !== undefined && !isTenantName(fields.tenant)) {
    options.report('tenant', TENANT_NAME, describe(fields.tenant));
  }
  const { timeout, retryWindow } = resolveRequestOptions(options, allowPrivateNetwork);
  if (timeout > MAX_TIMEOUT)
    options.report('timeout', `at most ${MAX_TIMEOUT} milliseconds`, describe(timeout));
  if (retryWindow > MAX_RETRY_WINDOW) {
    options.report('retryWindow', `at most ${MAX_RETRY_WINDOW} milliseconds (7 days)`, describe(retryWindow));
  }
  checkSources(options, sources, stored);
  checkText(options, 'name', MAX_NAME);
  checkText(options, 'description', MAX_DESCRIPTION);
  checkEvents(options);
  checkTypes(options);
  checkMetadata(options);
  options.boolean('enabled', true);
  if (options.problems.length === 0) checkSize(options, fields);
  return options.problems;
}

/** Returns the request options of a stored destination. A record from the application's own store may be wrong. */
export function requestOptionsOf(
  record: DestinationRecord,
  allowPrivateNetwork: boolean,
): { options: RequestOptions; problems: readonly OptionProblem[] } {
  const reader = new OptionReader({ ...record }, '', []);
  for (const field of ['events', 'types', 'sources'] as const) checkTexts(reader, field);
  // Otherwise any text would count as enabled.
  reader.boolean('enabled', true);
  return { options: resolveRequestOptions(reader, allowPrivateNetwork), problems: reader.problems };
}

function checkTexts(options: OptionReader, field: string): void {
  for (const [index, text] of (options.array(field, 'an array of strings') ?? []).entries()) {
    if (typeof text !== 'string') options.report(`${field}[${index}]`, 'a string', describe(text));
  }
}

/**
 * Checks `sources`. A tenant may choose its own sources and those that are bound to no tenant. An unknown source and
 * another tenant's source get the same answer, which lists no names: they may be names of customers.
 */
function checkSources(
  options: OptionReader,
  sources: DestinationRules['sources'],
  { tenant, sources: kept = [] }: Pick<DestinationRecord, 'tenant' | 'sources'>,
): void {
  const isAllowed = ({ tenant: owner }: { tenant: string | undefined }): boolean =>
    tenant === undefined || owner === undefined || owner === tenant;
  const allowed = sources.filter(isAllowed).map(({ name }) => name);
  const expected =
    tenant === undefined
      ? `names of sources (${allowed.join(', ')})`
      : 'names of sources that are not bound to another tenant';
  // A source that the destination already has may have been removed or bound since. Sending it again is no mistake.
  options.names('sources', [...allowed, ...kept], 'sources', expected);
}

function checkText(options: OptionReader, field: string, most: number): void {
  const text = options.get(field);
  if (text === undefined || (typeof text === 'string' && text.length <= most)) return;
  const given = typeof text === 'string' ? `${text.length} characters` : describe(text);
  options.report(field, `a string of at most ${most} characters`, given);
}

function checkEvents(options: OptionReader): void {
  const events = options.array('events', 'an array of names of events');
  if (events === undefined) return;
  if (events.length === 0 || events.length > MAX_PATTERNS) {
    options.report('events', `1 to ${MAX_PATTERNS} names of events`, String(events.length));
  }
  for (const [index, pattern] of events.entries()) {
    if (!isPattern(pattern)) options.report(`events[${index}]`, PATTERN, describe(pattern));
  }
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || value.length > MAX_PATTERN) return false;
  return !value.slice(0, -1).includes('*');
}

function checkTypes(options: OptionReader): void {
  const expected = `an array of at least one of ${MESSAGE_TYPES.join(', ')}`;
  const types = options.array('types', expected);
  if (types?.length === 0) options.report('types', expected, 'an empty array');
  for (const [index, type] of (types ?? []).entries()) {
    if (!isMessageType(type))
      options.report(`types[${index}]`, `one of ${MESSAGE_TYPES.join(', ')}`, describe(type));
  }
}

function checkMetadata(options: OptionReader): void {
  const metadata = options.get('metadata');
  if (metadata === undefined) return;
  if (!isRecord(metadata)) options.report('metadata', 'an object', describe(metadata));
  else if (!isFlatJson(jsonOf(metadata)))
    options.report(
      'metadata',
      `an object that JSON can hold, at most ${MAX_DEPTH} levels deep`,
      'an object that JSON cannot hold, or a deeper one',
    );
}

/** @param json `undefined` for a value that JSON cannot hold */
function isFlatJson(json: string | undefined): boolean {
  return json !== undefined && !isDeeper(JSON.parse(json), MAX_DEPTH);
}

function checkSize(options: OptionReader, fields: Record<string, unknown>): void {
  const bytes = Buffer.byteLength(jsonOf(fields) ?? '');
  if (bytes > MAX_BYTES)
    options.report('metadata', `at most ${MAX_BYTES} bytes for all fields as JSON`, String(bytes));
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
