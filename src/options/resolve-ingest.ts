import { defaultIdentity } from '../tracking/default-identity.js';
import type { IdentityResolver } from '../tracking/request-context.types.js';
import type { StandardSchema } from '../tracking/standard-schema.types.js';
import { describe, isRecord, type OptionReader } from './option-reader.js';
import type { ResolvedTracking } from './resolved-options.js';

/** Reads the options of the decorators, the request's context and the schemas of events. */
export function resolveTracking(options: OptionReader): ResolvedTracking {
  return {
    identity: resolveIdentity(options),
    requestContext: oneOf(options, 'requestContext', 'decorated', ['decorated', 'all', false]),
    events: resolveEvents(options),
    onViolation: oneOf(options, 'onViolation', 'warn', ['drop', 'warn', 'throw']),
  };
}

function resolveIdentity(options: OptionReader): IdentityResolver {
  const identity = options.get('identity');
  if (identity === undefined) return defaultIdentity;
  if (isIdentityResolver(identity)) return identity;
  options.report('identity', 'a function', describe(identity));
  return defaultIdentity;
}

function isIdentityResolver(value: unknown): value is IdentityResolver {
  return typeof value === 'function';
}

function resolveEvents(options: OptionReader): Record<string, StandardSchema> {
  const events = options.get('events');
  if (events === undefined) return {};
  if (!isRecord(events)) {
    options.report('events', 'an object of names of events and their schemas', describe(events));
    return {};
  }
  const schemas: Record<string, StandardSchema> = {};
  for (const [event, schema] of Object.entries(events)) {
    if (isStandardSchema(schema)) schemas[event] = schema;
    else
      options.report(
        `events[${JSON.stringify(event)}]`,
        'a Standard Schema (zod, valibot, arktype, …)',
        describe(schema),
      );
  }
  return schemas;
}

/** A schema is an object, or, of some libraries, a function. */
function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  return isRecord(standard) && typeof standard.validate === 'function';
}

function oneOf<T extends string | false>(
  options: OptionReader,
  name: string,
  fallback: T,
  values: readonly T[],
): T {
  const value = options.get(name);
  if (value === undefined) return fallback;
  const known = values.find((one) => one === value);
  if (known === undefined)
    options.report(name, values.map((one) => describe(one)).join(' or '), describe(value));
  return known ?? fallback;
}
