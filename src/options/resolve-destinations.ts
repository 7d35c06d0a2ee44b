import { types } from 'node:util';
import { groupOf } from '../messages/context-group.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { DESTINATION_STORE_METHODS, type DestinationStore, isWritable } from './destination-store.js';
import type { DestinationsOptions } from './destinations-options.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import { type ResolvedDestinationsApi, resolveDestinationsApi } from './resolve-destinations-api.js';

const KNOWN: readonly string[] = [
  'encryptionKey',
  'tenant',
  'limitPerTenant',
  'backlogLimit',
  'failedLimit',
  'disableAfter',
  'allowPrivateNetwork',
  'store',
  'api',
] satisfies (keyof DestinationsOptions)[];

/** Default of `disableAfter`: five days, in milliseconds. */
const DISABLE_AFTER = 5 * 86_400_000;

const KEY_BYTES = 32;
const KEY = `${KEY_BYTES} bytes as base64 or hex`;
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Destinations at run time, with every default filled in. */
export interface ResolvedDestinations {
  /** The first key encrypts. Without keys, secrets are stored as they are. */
  encryptionKeys: Buffer[];
  /** Whether it is intended that secrets are stored as they are. */
  isPlainIntended: boolean;
  tenantOf: (message: AnalyticsMessage) => string | undefined;
  limitPerTenant: number;
  /** `undefined`: the default. */
  backlogLimit: number | undefined;
  /** Number of messages that failed for good and are kept for each destination. `undefined`: the default. */
  failedLimit: number | undefined;
  /** In milliseconds. */
  disableAfter: number;
  allowPrivateNetwork: boolean;
  /** `undefined`: beside the queue, in its database. */
  store: DestinationStore | undefined;
  /** `undefined` if it is not served. */
  api: ResolvedDestinationsApi | undefined;
}

/** Reads `destinations`; `undefined` for an application without them. */
export function resolveDestinations(options: OptionReader): ResolvedDestinations | undefined {
  const given = options.get('destinations');
  if (given === undefined) return undefined;
  if (!isRecord(given)) {
    options.report('destinations', '`{ encryptionKey, … }`', describeType(given));
    return undefined;
  }
  if (options.get('endpoint') !== undefined) {
    options.report('destinations', 'no value when `endpoint` is given', 'both');
  }
  const destinations = new OptionReader(given, 'destinations', options.problems);
  destinations.onlyKnows(KNOWN);
  const store = resolveStore(destinations);
  const isOurs = store === undefined || isWritable(store);
  return {
    ...resolveKeys(destinations, isOurs),
    tenantOf: resolveTenant(destinations),
    limitPerTenant: destinations.number('limitPerTenant', 20, { min: 0 }),
    backlogLimit: resolveLimit(destinations, 'backlogLimit'),
    failedLimit: resolveLimit(destinations, 'failedLimit'),
    disableAfter:
      destinations.get('disableAfter') === Infinity
        ? Infinity
        : destinations.milliseconds('disableAfter', DISABLE_AFTER, { min: 1 }),
    allowPrivateNetwork: destinations.boolean('allowPrivateNetwork', false),
    store,
    api: resolveDestinationsApi(destinations),
  };
}

function resolveLimit(options: OptionReader, name: string): number | undefined {
  return options.get(name) === undefined ? undefined : options.number(name, Infinity, { min: 1 });
}

function resolveKeys(
  options: OptionReader,
  isOurs: boolean,
): Pick<ResolvedDestinations, 'encryptionKeys' | 'isPlainIntended'> {
  const given = options.get('encryptionKey');
  if (given === false || (given === undefined && !isOurs))
    return { encryptionKeys: [], isPlainIntended: true };
  if (given === undefined) {
    if (process.env.NODE_ENV === 'production') {
      options.report(
        'encryptionKey',
        `${KEY} in production, or \`false\` to store secrets unencrypted`,
        'undefined',
      );
    }
    return { encryptionKeys: [], isPlainIntended: false };
  }
  const keys: unknown[] = Array.isArray(given) ? given : [given];
  if (keys.length === 0) options.report('encryptionKey', 'at least one key', 'an empty array');
  return {
    encryptionKeys: keys.flatMap((key, index) => {
      const read = typeof key === 'string' ? keyOf(key) : undefined;
      if (read !== undefined) return [read];
      const name = Array.isArray(given) ? `encryptionKey[${index}]` : 'encryptionKey';
      options.report(name, KEY, typeof key === 'string' ? 'another string' : describeType(key));
      return [];
    }),
    isPlainIntended: false,
  };
}

function keyOf(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  const key = BASE64.test(text) ? Buffer.from(text, 'base64') : undefined;
  return key?.length === KEY_BYTES ? key : undefined;
}

function resolveTenant(options: OptionReader): ResolvedDestinations['tenantOf'] {
  const tenant = options.get('tenant');
  if (isTenantFunction(tenant)) return withoutRejections(tenant);
  if (tenant !== undefined) options.report('tenant', 'a function', describe(tenant));
  return groupOf;
}

/** Handles a rejection if the function returns a promise: it would end the process before the mistake is reported. */
function withoutRejections(tenantOf: ResolvedDestinations['tenantOf']): ResolvedDestinations['tenantOf'] {
  return (message) => {
    const tenant = tenantOf(message);
    const returned: unknown = tenant;
    if (types.isPromise(returned)) returned.catch(() => undefined);
    return tenant;
  };
}

function isTenantFunction(value: unknown): value is ResolvedDestinations['tenantOf'] {
  return typeof value === 'function';
}

function resolveStore(options: OptionReader): DestinationStore | undefined {
  const store = options.get('store');
  if (store === undefined || isStore(store)) return store;
  const methods = DESTINATION_STORE_METHODS.join(' and ');
  options.report('store', `an object with at least the methods ${methods}`, describeType(store));
  return undefined;
}

function isStore(value: unknown): value is DestinationStore {
  return isRecord(value) && DESTINATION_STORE_METHODS.every((method) => typeof value[method] === 'function');
}
