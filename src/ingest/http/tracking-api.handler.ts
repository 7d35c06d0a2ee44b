import type { OnApplicationShutdown } from '@nestjs/common';
import type { AnalyticsClient } from '../../client/analytics-client.js';
import { thrownAt } from '../../shared/thrown-at.js';
import { hasHungUp } from '../../http/connection-of.js';
import type { OwnRoutes } from '../../http/host-routes.js';
import type { HttpAnswer } from '../../http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../../http/http-handler.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import { MAX_BATCH_BYTES } from '../../messages/serialize.js';
import type { ResolvedSource, ResolvedTrackingApi } from '../../options/resolved-options.js';
import { LimitedErrors } from '../../queue/limited-errors.js';
import { FailedMessageLog } from './failed-message-log.js';
import { Intake } from './intake.js';
import { RateLimiter } from './rate-limiter.js';
import { ReturnedDeliveries } from './returned-deliveries.js';
import { failedAnswer, PREFLIGHT_ANSWER, refusedAnswer } from './tracking-answer.js';
import { TrackingApi } from './tracking-api.js';
import { TRACKING_PATHS, type TrackingRoute, trackingRoute } from './tracking-routes.js';
import { UnknownKeyLog } from './unknown-key-log.js';
import { WriteKeys } from './write-keys.js';
import { AnalyticsLogger } from '../../shared/analytics-logger.js';

export interface TrackingApiLogger {
  error(message: string): void;
}

/** Recognises the requests to the tracking API, and answers all of them. */
export class TrackingApiHandler extends HttpHandler<TrackingRoute> implements OnApplicationShutdown {
  readonly routes: OwnRoutes;
  readonly isOpenToPages = true;
  protected readonly maxBytes = MAX_BATCH_BYTES;

  /**
   * @param path prefix of `/v1/…`
   * @param shutdownTimeout in milliseconds
   */
  constructor(
    private readonly api: Pick<TrackingApi, 'handle' | 'close'>,
    private readonly path: string,
    logger: TrackingApiLogger,
    shutdownTimeout: number,
  ) {
    super(shutdownTimeout, logger);
    this.routes = {
      name: 'The tracking API',
      method: 'POST',
      paths: TRACKING_PATHS.map((own) => path + own),
      isTree: false,
      option: "trackingApi: { path: '/events' }",
    };
  }

  onApplicationShutdown(): void {
    this.api.close();
  }

  protected routeOf({ method, url }: RequestLine): TrackingRoute | undefined {
    return method === 'POST' || method === 'OPTIONS' ? trackingRoute(url ?? '', this.path) : undefined;
  }

  protected async answerTo(request: RoutedRequest<TrackingRoute>): Promise<HttpAnswer> {
    const { raw } = request;
    if (raw.method === 'OPTIONS') return PREFLIGHT_ANSWER;
    try {
      return await this.api.handle(request);
    } catch (error) {
      if (error instanceof RequestRefusal) return refusedAnswer(error);
      // A sender that has hung up gets no answer, and nothing is wrong here.
      if (!hasHungUp(raw)) this.logger.error(`A request to the tracking API failed: ${thrownAt(error)}`);
      return failedAnswer();
    }
  }

  protected refused(refusal: RequestRefusal): HttpAnswer {
    return refusedAnswer(refusal);
  }
}

export function createTrackingApi(
  { path, rateLimit }: ResolvedTrackingApi,
  sources: readonly ResolvedSource[],
  client: AnalyticsClient,
  shutdownTimeout: number,
): TrackingApiHandler {
  const logger = new AnalyticsLogger();
  const api = new TrackingApi({
    intake: new Intake(
      client,
      sources.map(({ name }) => name),
    ),
    keys: new WriteKeys(sources),
    limiter: new RateLimiter(rateLimit),
    unknownKeys: new UnknownKeyLog(logger),
    returned: new ReturnedDeliveries(logger),
    failures: new FailedMessageLog(logger),
  });
  return new TrackingApiHandler(api, path, new LimitedErrors(logger), shutdownTimeout);
}
