import { Logger } from '@nestjs/common';
import type { AnalyticsClient } from '../../client/analytics-client.js';
import type { ResolvedSource, ResolvedTrackingApi } from '../../options/resolved-options.js';
import { Intake } from './intake.js';
import { RateLimiter } from './rate-limiter.js';
import { TrackingApiHandler } from './tracking-api.handler.js';
import { TrackingApi } from './tracking-api.js';
import { UnknownKeyLog } from './unknown-key-log.js';
import { WriteKeys } from './write-keys.js';

export function createTrackingApi(
  { path, rateLimit }: ResolvedTrackingApi,
  sources: readonly ResolvedSource[],
  client: AnalyticsClient,
): TrackingApiHandler {
  const logger = new Logger('Analytics');
  const api = new TrackingApi({
    intake: new Intake(client),
    keys: new WriteKeys(sources),
    limiter: new RateLimiter(rateLimit),
    unknownKeys: new UnknownKeyLog(logger),
  });
  return new TrackingApiHandler(api, path, logger);
}
