import { AUDIENCE_STORE_METHODS, type AudienceStore } from './audience-store.js';
import type { Integrations } from '../messages/message.types.js';
import { isJsonObject } from '../messages/value-kind.js';
import type { AudiencesOptions } from './analytics-options.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedAudiences } from './resolved-options.js';

const KNOWN: readonly string[] = ['source', 'integrations', 'store'] satisfies (keyof AudiencesOptions)[];

/** Reads `audiences`. */
export function resolveAudiences(options: OptionReader, sources: readonly string[]): ResolvedAudiences {
  const given = options.get('audiences');
  if (given !== undefined && !isRecord(given)) {
    options.report('audiences', '`{ source, integrations, store }`', describeType(given));
  }
  const audiences = new OptionReader(isRecord(given) ? given : {}, 'audiences', options.problems);
  audiences.onlyKnows(KNOWN);
  return {
    source: resolveSource(audiences, sources),
    integrations: resolveIntegrations(audiences),
    store: resolveStore(audiences),
  };
}

function resolveSource(options: OptionReader, sources: readonly string[]): string | undefined {
  const source = options.get('source');
  if (source === undefined) return undefined;
  if (typeof source === 'string' && sources.includes(source)) return source;
  options.report('source', `one of the sources ${sources.join(', ')}`, describe(source));
  return undefined;
}

function resolveIntegrations(options: OptionReader): Integrations | undefined {
  const integrations = options.get('integrations');
  if (integrations === undefined || isIntegrations(integrations)) return integrations;
  options.report(
    'integrations',
    'an object that maps destination names to booleans or options objects',
    describe(integrations),
  );
  return undefined;
}

function isIntegrations(value: unknown): value is Integrations {
  return (
    isJsonObject(value) && Object.values(value).every((flag) => typeof flag === 'boolean' || isRecord(flag))
  );
}

function resolveStore(options: OptionReader): AudienceStore | undefined {
  const store = options.get('store');
  if (store === undefined || isAudienceStore(store)) return store;
  options.report(
    'store',
    `an object with the methods ${AUDIENCE_STORE_METHODS.join(', ')}`,
    describeType(store),
  );
  return undefined;
}

function isAudienceStore(value: unknown): value is AudienceStore {
  return isRecord(value) && AUDIENCE_STORE_METHODS.every((method) => typeof value[method] === 'function');
}
