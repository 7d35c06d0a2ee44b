import type { EventFilter, SourceFilter } from '../messages/source-filter.js';
import { isJsonObject } from '../messages/value-kind.js';
import { describe, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedSource } from './resolved-options.js';
import { isTenantName, TENANT_NAME } from './tenant-name.js';

/** Name of the only source when `writeKey` is given. */
export const DEFAULT_SOURCE = 'default';

const EXPECTED_SCHEMA = '`{ [event]: false }` or `{ [event]: { [destination]: false } }`';

type Sources = [ResolvedSource, ...ResolvedSource[]];

/** Reads `writeKey` or `sources`. If they are wrong, the result only serves to check the other options. */
export function resolveSources(options: OptionReader): Sources {
  const writeKey = options.secret('writeKey');
  const sources = options.array('sources', 'an array of `{ name, writeKey }`');
  const short: Sources = [
    { name: DEFAULT_SOURCE, writeKey: writeKey ?? '', enabled: true, schema: new Map(), tenant: undefined },
  ];
  if (sources === undefined) {
    if (options.get('writeKey') === undefined && options.get('sources') === undefined) {
      options.report('writeKey', 'a write key of your choice, or `sources`', 'neither');
    }
    return short;
  }
  if (options.get('writeKey') !== undefined) {
    options.report('writeKey', 'no value when `sources` is given', 'both');
  }
  const [first, ...rest] = sources.map((source, index) => resolveSource(source, index, options));
  if (first === undefined) {
    options.report('sources', 'at least one source', 'an empty array');
    return short;
  }
  const resolved: Sources = [first, ...rest];
  reportRepeated(resolved, 'name', options);
  reportRepeated(resolved, 'writeKey', options);
  return resolved;
}

function resolveSource(value: unknown, index: number, options: OptionReader): ResolvedSource {
  const source = new OptionReader(isRecord(value) ? value : {}, `sources[${index}]`, options.problems);
  source.onlyKnows(['name', 'writeKey', 'enabled', 'schema', 'tenant']);
  return {
    name: source.requiredString('name'),
    writeKey: source.requiredSecret('writeKey'),
    enabled: source.boolean('enabled', true),
    schema: resolveSourceFilter(source),
    tenant: resolveTenant(source),
  };
}

function resolveTenant(source: OptionReader): string | undefined {
  const tenant = source.get('tenant');
  if (tenant === undefined || isTenantName(tenant)) return tenant;
  source.report('tenant', TENANT_NAME, describe(tenant));
  return undefined;
}

/** Reads the `schema` of a source. */
function resolveSourceFilter(source: OptionReader): SourceFilter {
  const schema = source.get('schema');
  if (schema === undefined) return new Map();
  if (!isJsonObject(schema)) {
    source.report('schema', EXPECTED_SCHEMA, describe(schema));
    return new Map();
  }
  const rules = new Map<string, EventFilter>();
  for (const [event, value] of Object.entries(schema)) {
    const rule = resolveRule(value);
    if (rule === undefined)
      source.report(`schema[${JSON.stringify(event)}]`, expectedOf(value), describe(value));
    else rules.set(event, rule);
  }
  return rules;
}

function resolveRule(value: unknown): EventFilter | undefined {
  if (typeof value === 'boolean') return value ? [] : false;
  if (!isJsonObject(value) || 'All' in value) return undefined;
  const flags = Object.entries(value);
  if (!flags.every(([, flag]) => typeof flag === 'boolean')) return undefined;
  return flags.flatMap(([destination, flag]) => (flag === false ? [destination] : []));
}

function expectedOf(value: unknown): string {
  const isAll = isRecord(value) && 'All' in value;
  return isAll
    ? '`false`, which keeps an event from all destinations'
    : 'a boolean, or an object that maps destination names to booleans';
}

function reportRepeated(
  sources: readonly ResolvedSource[],
  key: 'name' | 'writeKey',
  options: OptionReader,
): void {
  const seen = new Set<string>();
  for (const [index, source] of sources.entries()) {
    if (source[key] !== '' && seen.has(source[key])) {
      options.report(
        `sources[${index}].${key}`,
        `a ${key} that no other source has`,
        'one that another source has',
      );
    }
    seen.add(source[key]);
  }
}
