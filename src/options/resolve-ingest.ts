import type { OptionProblem } from '../errors/option-problem.js';
import { isJsonObject } from '../messages/value-kind.js';
import type { IdentityResolver } from './request-context.types.js';
import type { StandardSchema } from './standard-schema.types.js';
import { describe, isRecord, OptionReader } from './option-reader.js';
import { resolvePath } from './resolve-path.js';
import type { ResolvedIngest, ResolvedTrackingApi } from './resolved-options.js';

/** Reads the options of the decorators, of the request's context and of the event schemas. */
export function resolveIngest(options: OptionReader): ResolvedIngest {
  return {
    identity: resolveIdentity(options),
    requestContext: oneOf(options, 'requestContext', 'decorated', ['decorated', 'all', false]),
    events: resolveEvents(options),
    onViolation: oneOf(options, 'onViolation', 'warn', ['drop', 'warn', 'throw']),
  };
}

function resolveIdentity(options: OptionReader): IdentityResolver | undefined {
  const identity = options.get('identity');
  if (identity === undefined || isIdentityResolver(identity)) return identity;
  options.report('identity', 'a function', describe(identity));
  return undefined;
}

function isIdentityResolver(value: unknown): value is IdentityResolver {
  return typeof value === 'function';
}

function resolveEvents(options: OptionReader): Record<string, StandardSchema> {
  const events = options.get('events');
  if (events === undefined) return {};
  if (!isJsonObject(events)) {
    options.report('events', 'an object that maps event names to schemas', describe(events));
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

/** Whether a value is a Standard Schema: an object, or in some libraries a function. */
function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  return isRecord(standard) && typeof standard.validate === 'function';
}

/** Reads the extra `trackingApi`. */
export function resolveTrackingApi(
  trackingApi: unknown,
  problems: OptionProblem[],
): ResolvedTrackingApi | undefined {
  if (trackingApi === undefined || trackingApi === false) return undefined;
  if (trackingApi !== true && !isRecord(trackingApi)) {
    problems.push({
      path: 'trackingApi',
      expected: 'a boolean or `{ path, rateLimit }`',
      given: describe(trackingApi),
    });
    return undefined;
  }
  const options = new OptionReader(isRecord(trackingApi) ? trackingApi : {}, 'trackingApi', problems);
  options.onlyKnows(['path', 'rateLimit']);
  return {
    path: resolvePath(options, '', 'a path such as `/events`, to be put before `/v1/…`'),
    rateLimit: options.number('rateLimit', Infinity, { min: 1 }),
  };
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
