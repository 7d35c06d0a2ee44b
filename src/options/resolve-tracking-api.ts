import type { OptionProblem } from '../errors/invalid-options.error.js';
import { describe, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedTrackingApi } from './resolved-options.js';

/** Segments of characters that need no escape, so that it is compared as it comes. */
const PATH = /^(\/[\w.~-]+)*\/?$/;

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
    path: resolvePath(options),
    rateLimit: options.number('rateLimit', Infinity, { min: 1 }),
  };
}

function resolvePath(options: OptionReader): string {
  const path = options.get('path');
  if (path === undefined) return '';
  if (typeof path === 'string' && PATH.test(path)) return path.replace(/\/$/, '');
  options.report('path', 'a path such as `/events`, which stands before `/v1/…`', describe(path));
  return '';
}
