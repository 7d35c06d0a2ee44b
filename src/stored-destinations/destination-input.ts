import { InvalidDestinationError } from '../errors/destination.errors.js';
import type { OptionProblem } from '../errors/setup.errors.js';
import type {
  DestinationPageQuery,
  DestinationRecord,
  DestinationSecrets,
} from '../options/destination-store.js';
import { describe, isRecord, OptionReader } from '../options/option-reader.js';
import {
  DESTINATION_FIELDS,
  destinationProblems,
  type DestinationRules,
} from '../options/resolve-destination.js';
import { TENANT_NAME } from '../options/tenant-name.js';
import type {
  DestinationQuery,
  DestinationScope,
  DestinationUpdate,
  NewDestination,
} from './destinations.types.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** A destination keeps its tenant, and separate calls enable and disable it. */
const UPDATED = DESTINATION_FIELDS.filter((field) => field !== 'tenant' && field !== 'enabled');
const SECRETS: readonly string[] = ['headers', 'sharedSecret', 'standardWebhooks'];
/** What every destination shows and no update takes, with what to do instead. */
const NOT_UPDATED = {
  tenant: 'no value: the tenant of a destination never changes',
  enabled: 'no value: to enable and to disable it are calls of their own',
};

/** What an update changes, once all fields together were checked. */
export interface CheckedUpdate {
  fields: Partial<DestinationRecord>;
  /** All secrets; `undefined` if they stay. */
  secrets: DestinationSecrets | undefined;
}

/** The fields of a new destination. @throws InvalidDestinationError */
export function checkedFields(fields: NewDestination, rules: DestinationRules): NewDestination {
  const given = { ...fields };
  const problems = destinationProblems({ ...given }, DESTINATION_FIELDS, rules, { tenant: given.tenant });
  if ('tenant' in given && given.tenant === undefined) {
    const expected = `${TENANT_NAME}, or no such field for the messages of all`;
    problems.push({ path: 'tenant', expected, given: describe(given.tenant) });
  }
  if (problems.length > 0) throw new InvalidDestinationError(problems);
  return given;
}

/**
 * Checks an update as a new destination is checked. New secrets of Standard Webhooks end those that were
 * rotated.
 *
 * @throws InvalidDestinationError
 */
export function checkedUpdate(
  update: DestinationUpdate,
  record: DestinationRecord,
  secrets: DestinationSecrets,
  rules: DestinationRules,
): CheckedUpdate {
  if (!isRecord(update)) throw problem('update', 'an object', update);
  const given: [string, unknown][] = Object.entries({ ...update });
  const changes = Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value ?? undefined]),
  );
  const current = Object.entries({ ...record, ...secrets });
  const kept = Object.fromEntries(current.filter(([name]) => UPDATED.some((field) => field === name)));
  // Sources that were removed or bound since are not the fault of this update.
  if (!('sources' in changes)) delete kept.sources;
  const others = Object.fromEntries(
    Object.entries(changes).filter(([name]) => !Object.hasOwn(NOT_UPDATED, name)),
  );
  const problems = [
    ...misplaced(changes),
    ...destinationProblems({ ...kept, ...others }, UPDATED, rules, record),
  ];
  if (problems.length > 0) throw new InvalidDestinationError(problems);
  const isSecret = ([name]: [string, unknown]): boolean => SECRETS.includes(name);
  const entries = Object.entries(changes);
  const changedSecrets: DestinationSecrets = Object.fromEntries(entries.filter(isSecret));
  const retiring = 'standardWebhooks' in changes ? {} : { retiring: secrets.retiring };
  return {
    fields: Object.fromEntries(entries.filter((entry) => !isSecret(entry))),
    secrets: entries.some(isSecret)
      ? { ...secrets, retiring: undefined, ...retiring, ...changedSecrets }
      : undefined,
  };
}

function misplaced(changes: Record<string, unknown>): OptionProblem[] {
  return Object.entries(NOT_UPDATED)
    .filter(([path]) => path in changes)
    .map(([path, expected]) => ({ path, expected, given: describe(changes[path]) }));
}

/**
 * The tenant that asks; `undefined` where the application asks for itself. The tenant of somebody who has not signed in
 * must not make them the operator.
 *
 * @throws InvalidDestinationError
 */
export function askerOf(scope: DestinationScope): string | undefined {
  const { tenant } = scope;
  if ('tenant' in scope && typeof tenant !== 'string')
    throw problem('tenant', 'the tenant that asks, or no such field for the application itself', tenant);
  return tenant;
}

/** @throws InvalidDestinationError */
export function checkedQuery(query: DestinationQuery): DestinationPageQuery {
  const tenant = askerOf(query);
  const { cursor, enabled, limit } = query;
  if (cursor !== undefined && typeof cursor !== 'string')
    throw problem('cursor', 'the `cursor` of a page', cursor);
  // Untyped code may pass anything.
  const isFlag = enabled === undefined || (enabled as unknown) === false;
  if (!isFlag) throw problem('enabled', '`false`, or nothing', enabled);
  const reader = new OptionReader({ limit }, '', []);
  const checked = reader.number('limit', DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
  if (reader.problems.length > 0) throw new InvalidDestinationError(reader.problems);
  return { tenant, after: cursor, enabled, limit: checked };
}

function problem(path: string, expected: string, given: unknown): InvalidDestinationError {
  return new InvalidDestinationError([{ path, expected, given: describe(given) }]);
}
