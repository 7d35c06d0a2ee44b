import type { OnApplicationShutdown } from '@nestjs/common';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import { thrownAt } from '../shared/thrown-at.js';
import { hasHungUp } from '../http/connection-of.js';
import type { OwnRoutes } from '../http/host-routes.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../http/http-handler.js';
import type { RequestRefusal } from '../http/request-refusal.js';
import type { ResolvedDestinationsApi } from '../options/resolve-destinations-api.js';
import { LimitedErrors } from '../queue/limited-errors.js';
import { LimitedLog } from '../queue/limited-log.js';
import { answerToError, internalError, refusedAnswer } from './api-answer.js';
import { AuditLog } from './audit-log.js';
import { Authorizer } from './authorizer.js';
import { CreationLimit } from './creation-limit.js';
import { DestinationsApi, MAX_BODY_BYTES } from './destinations-api.js';
import type { ConsoleLinks } from './links/console-links.js';
import { Operations } from './operations.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

interface DestinationsApiServices {
  destinations: DestinationsService;
  deliveries: DeliveriesService;
  links: ConsoleLinks | undefined;
}

/** Name of the API in the log, and the option that moves it. The console's own API moves with the console. */
const OWN = { name: 'The destinations API', option: "destinations: { api: { path: '/api/webhooks' } }" };
const CONSOLE = { name: 'The console', option: "console: { path: '/admin/analytics' }" };

/** Recognises the requests to the destinations API, and answers all of them. */
export class DestinationsApiHandler extends HttpHandler<string> implements OnApplicationShutdown {
  readonly routes: OwnRoutes;
  /** Requests carry the cookies of the signed-in user. */
  readonly isOpenToPages = false;
  protected readonly maxBytes = MAX_BODY_BYTES;
  private readonly path: string;

  /**
   * @param options path of the API; everything below it belongs to the API
   * @param shutdownTimeout in milliseconds
   */
  constructor(
    private readonly api: Pick<DestinationsApi, 'handle'>,
    { path, isForConsole }: Pick<ResolvedDestinationsApi, 'path' | 'isForConsole'>,
    logger: { error(message: string): void },
    private readonly audit: Pick<AuditLog, 'close'>,
    shutdownTimeout: number,
  ) {
    super(shutdownTimeout, logger);
    this.path = path;
    this.routes = {
      ...(isForConsole ? CONSOLE : OWN),
      method: 'ALL',
      paths: [path],
      isTree: true,
    };
  }

  /** Closes the audit log. The web server has ended by now. */
  onApplicationShutdown(): void {
    this.audit.close();
  }

  /** Returns the path below that of the API; `undefined` for requests to the host. */
  protected routeOf({ url = '' }: RequestLine): string | undefined {
    // This cheap test rules out nearly all of the host's requests.
    if (!url.startsWith(this.path)) return undefined;
    const path = url.slice(this.path.length).replace(/[?#].*$/s, '');
    if (path !== '' && !path.startsWith('/')) return undefined;
    return path.endsWith('/') ? path.slice(0, -1) : path;
  }

  protected async answerTo({ route, raw }: RoutedRequest<string>): Promise<HttpAnswer> {
    try {
      return await this.api.handle(route, raw);
    } catch (error) {
      const answer = answerToError(error, raw.method !== 'GET');
      if (answer !== undefined) return answer;
      // If the sender has hung up, nothing is wrong here, and nobody gets the answer.
      if (!hasHungUp(raw)) this.logger.error(`A request to the destinations API failed: ${thrownAt(error)}`);
      return refusedAnswer(internalError());
    }
  }

  protected refused(refusal: RequestRefusal): HttpAnswer {
    return refusedAnswer(refusal);
  }
}

export function createDestinationsApi(
  options: ResolvedDestinationsApi,
  { destinations, deliveries, links }: DestinationsApiServices,
  { limitPerTenant, shutdownTimeout }: { limitPerTenant: number; shutdownTimeout: number },
): DestinationsApiHandler {
  const { path, authorize, isForConsole } = options;
  const logger = new AnalyticsLogger();
  const lines = new LimitedLog(logger, () => performance.now());
  const authorizer = new Authorizer(
    authorize,
    isForConsole ? 'console.authorize' : 'destinations.api.authorize',
    lines,
    links,
  );
  const operations = new Operations(destinations, deliveries, path, new CreationLimit(limitPerTenant));
  const audit = new AuditLog(logger);
  const errors = new LimitedErrors(logger);
  const api = new DestinationsApi({ authorizer, operations, audit, logger: errors, isForConsole });
  return new DestinationsApiHandler(api, options, errors, audit, shutdownTimeout);
}
