import type { EventRule, EventSchema } from '../destinations/event-schema.js';
import { describe, isRecord, type OptionReader } from './option-reader.js';

const EXPECTED = '`{ [event]: false }` or `{ [event]: { [destination]: false } }`';

/** Reads the `schema` of a source. */
export function resolveSchema(source: OptionReader): EventSchema {
  const schema = source.get('schema');
  if (schema === undefined) return new Map();
  if (!isRecord(schema)) {
    source.report('schema', EXPECTED, describe(schema));
    return new Map();
  }
  const rules = new Map<string, EventRule>();
  for (const [event, value] of Object.entries(schema)) {
    const rule = resolveRule(value);
    if (rule === undefined)
      source.report(`schema[${JSON.stringify(event)}]`, expectedOf(value), describe(value));
    else rules.set(event, rule);
  }
  return rules;
}

function resolveRule(value: unknown): EventRule | undefined {
  if (typeof value === 'boolean') return value ? [] : false;
  if (!isRecord(value) || 'All' in value) return undefined;
  const flags = Object.entries(value);
  if (!flags.every(([, flag]) => typeof flag === 'boolean')) return undefined;
  return flags.flatMap(([destination, flag]) => (flag === false ? [destination] : []));
}

function expectedOf(value: unknown): string {
  const isAll = isRecord(value) && 'All' in value;
  return isAll
    ? '`false`, which keeps an event from all destinations'
    : 'a boolean, or names of destinations to booleans';
}
