import { InvalidDestinationError } from '../errors/destination.errors.js';
import type { OptionProblem } from '../errors/option-problem.js';
import { integer, type OptionRules, problemsOfCall, TEXT } from '../options/call-options.js';
import type {
  DestinationPageQuery,
  DestinationRecord,
  DestinationSecrets,
} from '../options/destination-store.js';
import { describe, describeType, isRecord } from '../options/option-reader.js';
import {
  DESTINATION_FIELDS,
  destinationProblems,
  type DestinationRules,
} from '../options/resolve-destination.js';
import { TENANT_NAME } from '../options/tenant-name.js';
import type {
  DestinationDisableOptions,
  DestinationQuery,
  DestinationScope,
  DestinationUpdate,
  DestinationUpdateOptions,
  NewDestination,
  SecretRotationOptions,
} from './destinations.types.js';

/** Who asks. Somebody who has not signed in must not become the operator. */
const SCOPE: OptionRules<DestinationScope> = {
  tenant: {
    expected: 'the tenant that makes the call; leave it out if the application itself makes it',
    accepts: TEXT.accepts,
    presence: 'meant',
  },
};
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The options of each call that takes more than a scope. */
const OPTIONS = {
  update: { ...SCOPE, version: integer(0) } satisfies OptionRules<DestinationUpdateOptions>,
  disable: { ...SCOPE, reason: TEXT } satisfies OptionRules<DestinationDisableOptions>,
  rotateSecret: { ...SCOPE, overlap: integer(0) } satisfies OptionRules<SecretRotationOptions>,
};
const QUERY: OptionRules<DestinationQuery> = {
  ...SCOPE,
  cursor: { expected: 'the `cursor` of a page', accepts: TEXT.accepts },
  enabled: { expected: '`false`, or nothing', accepts: (value) => value === false },
  limit: integer(1, MAX_LIMIT),
};

/** A destination keeps its tenant, and separate calls enable and disable it. */
const UPDATED = DESTINATION_FIELDS.filter((field) => field !== 'tenant' && field !== 'enabled');
const SECRETS: readonly string[] = ['headers', 'sharedSecret', 'standardWebhooks'];
/** Fields that every destination shows but no update takes, with what to do instead. */
const NOT_UPDATED = {
  tenant: 'no value: the tenant of a destination never changes',
  enabled: 'no value: call `enable` or `disable` instead',
};

/** What an update changes, after all fields were checked together. */
export interface CheckedUpdate {
  fields: Partial<DestinationRecord>;
  /** All secrets; `undefined` if none changes. */
  secrets: DestinationSecrets | undefined;
}

/** Returns the checked fields of a new destination. @throws InvalidDestinationError */
export function checkedFields(fields: NewDestination, rules: DestinationRules): NewDestination {
  if (!isRecord(fields)) throw notAnObject('fields', fields);
  const given = { ...fields };
  const problems = destinationProblems({ ...given }, DESTINATION_FIELDS, rules, { tenant: given.tenant });
  if ('tenant' in given && given.tenant === undefined) {
    const expected = `${TENANT_NAME}; leave the field out for a destination that gets the messages of all tenants`;
    problems.push({ path: 'tenant', expected, given: describe(given.tenant) });
  }
  refuse(problems);
  return given;
}

/**
 * Checks an update by the rules for a new destination. New Standard Webhooks secrets end those that still sign after
 * a rotation.
 *
 * @throws InvalidDestinationError
 */
export function checkedUpdate(
  update: DestinationUpdate,
  record: DestinationRecord,
  secrets: DestinationSecrets,
  rules: DestinationRules,
): CheckedUpdate {
  if (!isRecord(update)) throw notAnObject('update', update);
  const given: [string, unknown][] = Object.entries({ ...update });
  const changes = Object.fromEntries(
    given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, value ?? undefined]),
  );
  const current = Object.entries({ ...record, ...secrets });
  const kept = Object.fromEntries(current.filter(([name]) => UPDATED.some((field) => field === name)));
  // The update is not at fault for sources that were removed, or bound to another tenant, since then.
  if (!('sources' in changes)) delete kept.sources;
  const others = Object.fromEntries(
    Object.entries(changes).filter(([name]) => !Object.hasOwn(NOT_UPDATED, name)),
  );
  const problems = [
    ...misplaced(changes),
    ...destinationProblems({ ...kept, ...others }, UPDATED, rules, record),
  ];
  refuse(problems);
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
 * Returns the tenant that asks, or `undefined` if the application itself asks. A misspelt `tenant` is refused, since it
 * would make a tenant the operator.
 *
 * @param call name of a call with options of its own. @default it has none but a scope
 * @throws InvalidDestinationError
 */
export function askerOf(options: DestinationScope, call?: keyof typeof OPTIONS): string | undefined {
  const rules = call === undefined ? SCOPE : OPTIONS[call];
  refuse(problemsOfCall(options, rules, call === undefined ? 'scope' : 'options'));
  return options.tenant;
}

/** @throws InvalidDestinationError */
export function checkedQuery(query: DestinationQuery): DestinationPageQuery {
  refuse(problemsOfCall(query, QUERY, 'query'));
  const { tenant, cursor, enabled, limit = DEFAULT_LIMIT } = query;
  return { tenant, after: cursor, enabled, limit };
}

/** Returns the tenant whose destinations have changed, or `undefined` for all. @throws InvalidDestinationError */
export function changedTenant(tenant: unknown): string | undefined {
  if (tenant === undefined || typeof tenant === 'string') return tenant;
  throw problem('tenant', 'the id of a tenant, or nothing for all', tenant);
}

function refuse(problems: readonly OptionProblem[]): void {
  if (problems.length > 0) throw new InvalidDestinationError(problems);
}

function problem(path: string, expected: string, given: unknown): InvalidDestinationError {
  return new InvalidDestinationError([{ path, expected, given: describe(given) }]);
}

/** Names only the type of the given value: a text is often a URL with a password. */
function notAnObject(path: string, given: unknown): InvalidDestinationError {
  return new InvalidDestinationError([{ path, expected: 'an object', given: describeType(given) }]);
}
