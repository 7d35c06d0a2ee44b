import type { DestinationsApiOptions } from './destinations-options.interface.js';
import { describe, describeType, isRecord, OptionReader } from './option-reader.js';
import { isWithin, resolvePath } from './resolve-path.js';

const KNOWN: readonly string[] = ['path', 'authorize'] satisfies (keyof DestinationsApiOptions)[];

const DEFAULT_PATH = '/analytics/destinations';

/** The HTTP API of the destinations, with every default filled in. */
export interface ResolvedDestinationsApi extends Required<DestinationsApiOptions> {
  /** Whether the API serves only the console. */
  isForConsole: boolean;
}

/** Reads `destinations.api`; `undefined` for an application without it. */
export function resolveDestinationsApi(destinations: OptionReader): ResolvedDestinationsApi | undefined {
  const given = destinations.get('api');
  if (given === undefined) return undefined;
  if (!isRecord(given)) {
    destinations.report('api', '`{ authorize, path }`', describeType(given));
    return undefined;
  }
  const options = new OptionReader(given, destinations.path('api'), destinations.problems);
  options.onlyKnows(KNOWN);
  const path = resolvePath(options, DEFAULT_PATH, `a path such as \`${DEFAULT_PATH}\``);
  const authorize = resolveAuthorize(options);
  return authorize && { path, authorize, isForConsole: false };
}

/** Reads the option `authorize`, which is required; `undefined` if it is missing or wrong. */
export function resolveAuthorize(options: OptionReader): ResolvedDestinationsApi['authorize'] | undefined {
  const authorize = options.get('authorize');
  if (isAuthorize(authorize)) return authorize;
  const expected = 'a function that identifies the sender of a request: unknown senders are refused';
  // A text in its place may be a token, so it is not shown.
  options.report('authorize', expected, describeType(authorize));
  return undefined;
}

/**
 * Reports a path that overlaps with the tracking API: each API needs paths of its own.
 *
 * @param trackingPath prefix of `/v1/…`; `undefined` without a tracking API
 */
export function checkApiPath(
  options: OptionReader,
  api: ResolvedDestinationsApi | undefined,
  trackingPath: string | undefined,
): void {
  if (api === undefined || trackingPath === undefined) return;
  const tracking = `${trackingPath}/v1`;
  if (!isWithin(api.path, tracking) && !isWithin(tracking, api.path)) return;
  options.report(
    'destinations.api.path',
    `a path outside of \`${tracking}\`, the path of the tracking API`,
    describe(api.path),
  );
}

function isAuthorize(value: unknown): value is ResolvedDestinationsApi['authorize'] {
  return typeof value === 'function';
}
