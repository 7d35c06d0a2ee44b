import { isRecord, OptionReader } from './option-reader.js';
import { resolveSchema } from './resolve-schema.js';
import type { ResolvedSource } from './resolved-options.js';

/** Name of the one source that `writeKey` alone makes. */
export const DEFAULT_SOURCE = 'default';

type Sources = [ResolvedSource, ...ResolvedSource[]];

/** Reads `writeKey` or `sources`. Where they are wrong, what is returned only serves to go on reading. */
export function resolveSources(options: OptionReader): Sources {
  const writeKey = options.secret('writeKey');
  const sources = options.array('sources', 'an array of `{ name, writeKey }`');
  const short: Sources = [
    { name: DEFAULT_SOURCE, writeKey: writeKey ?? '', enabled: true, schema: new Map() },
  ];
  if (sources === undefined) {
    if (options.get('writeKey') === undefined && options.get('sources') === undefined) {
      options.report('writeKey', 'a write key of your choice, or `sources`', 'neither');
    }
    return short;
  }
  if (options.get('writeKey') !== undefined) {
    options.report('writeKey', 'nothing beside `sources`', 'both');
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
  source.onlyKnows(['name', 'writeKey', 'enabled', 'schema']);
  return {
    name: source.requiredString('name'),
    writeKey: source.requiredSecret('writeKey'),
    enabled: source.boolean('enabled', true),
    schema: resolveSchema(source),
  };
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
