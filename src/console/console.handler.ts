import type { IncomingMessage } from 'node:http';
import {
  answerToError,
  internalError,
  jsonAnswer,
  queueUnavailable,
  refusedAnswer,
  errorFor,
} from '../destinations-api/api-answer.js';
import { queryOf } from '../destinations-api/api-request.js';
import type { Authorizer } from '../destinations-api/authorizer.js';
import { RequestInput } from '../destinations-api/request-input.js';
import { checkConsoleHeader, checkOrigin } from '../destinations-api/request-origin.js';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { OwnRoutes } from '../http/host-routes.js';
import type { HttpAnswer, StreamedAnswer } from '../http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../http/http-handler.js';
import { RequestRefusal } from '../http/request-refusal.js';
import { within } from '../shared/within.js';
import type { ChangeStreams } from './change-streams.js';
import { CONSOLE_PATHS, type ConsolePath } from '../options/resolve-console.js';
import {
  fileAnswer,
  isConsoleFile,
  linkPageAnswer,
  pageAnswer,
  refusedPageAnswer,
  rootFrom,
} from './console-page.js';
import { type ConsoleReports, REPORT_PATIENCE } from './console-reports.js';
import { LINK_PATH } from './console.service.js';
import type { LiveStreams } from './live-streams.js';

/** Reports that the page requests beyond the destinations API, by path. */
const REPORTS = { '/overview': 'overview', '/sources': 'sources' } as const satisfies Partial<
  Record<ConsolePath, keyof ConsoleReports>
>;
type ReportPath = keyof typeof REPORTS;

/** Path of the stream of calls. */
const LIVE_PATH = '/live' satisfies ConsolePath;
/** Path of the stream that tells a page when the overview, or its destination, has changed. */
const CHANGES_PATH = '/changes' satisfies ConsolePath;
const STREAM_PATHS: readonly string[] = [LIVE_PATH, CHANGES_PATH];

const PATHS: readonly string[] = CONSOLE_PATHS;
/** Header with the number of the event after which a reconnecting page continues. */
const LAST_EVENT_HEADER = 'last-event-id';
const EVENT_NUMBER = /^\d{1,15}$/;

export interface ConsoleParts {
  authorizer: Pick<Authorizer, 'scopeOf'>;
  /** Path of the console. */
  path: string;
  /** Origins whose pages may show the page of a link in a frame. */
  frameAncestors: readonly string[];
  /** Path of the API that the page calls. */
  apiPath: string;
  reports: Pick<ConsoleReports, 'overview' | 'overviewText' | 'sources' | 'destination'>;
  live: Pick<LiveStreams, 'open'>;
  changes: Pick<ChangeStreams, 'open'>;
  logger: { error(message: string): void };
  /** In milliseconds. */
  shutdownTimeout: number;
}

/** Serves the console's pages, files, reports and streams. */
export class ConsoleHandler extends HttpHandler<string> {
  readonly routes: OwnRoutes;
  readonly isOpenToPages = false;
  /** Its requests have no bodies. */
  protected readonly maxBytes = 0;

  constructor(private readonly parts: ConsoleParts) {
    super(parts.shutdownTimeout, parts.logger);
    this.routes = {
      name: 'The console',
      method: 'GET',
      paths: PATHS.map((own) => parts.path + own),
      isTree: false,
      option: "console: { path: '/admin/analytics' }",
    };
  }

  /** Returns the path below that of the console, or `undefined` for a request that the console does not serve. */
  protected routeOf({ method, url = '' }: RequestLine): string | undefined {
    const { path } = this.parts;
    if (!url.startsWith(path) || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const below = url.slice(path.length).replace(/[?#].*$/s, '');
    const route = below === '/' ? '' : below;
    // A stream has no length that it could report to a `HEAD` request.
    if (STREAM_PATHS.includes(route) && method === 'HEAD') return undefined;
    return PATHS.includes(route) ? route : undefined;
  }

  protected async answerTo({ route, raw }: RoutedRequest<string>): Promise<HttpAnswer | StreamedAnswer> {
    const { authorizer, path, apiPath, frameAncestors, logger } = this.parts;
    try {
      // The files are the same for everybody, and anyone can read them in the published package.
      if (isConsoleFile(route)) return await fileAnswer(route);
      if (isReport(route)) return await this.report(route, raw);
      if (route === LIVE_PATH) return await this.calls(raw);
      if (route === CHANGES_PATH) return await this.changes(raw);
      const places = { path, apiPath, root: rootFrom(raw) };
      // The page itself is public: it requests its data with the token behind the `#` of the link.
      if (route === LINK_PATH) return linkPageAnswer(places, frameAncestors);
      return pageAnswer(places, await authorizer.scopeOf(raw));
    } catch (error) {
      if (isData(route)) return this.refusedData(error);
      if (error instanceof RequestRefusal) return refusedPageAnswer(error);
      logger.error(`The console could not be served: ${thrownAt(error)}.`);
      return refusedPageAnswer(notServed());
    }
  }

  protected refused(refusal: RequestRefusal, route: string): HttpAnswer {
    return isData(route) ? refusedAnswer(refusal) : { ...refusedPageAnswer(refusal), closes: true };
  }

  /** Answers with a report, which only the operator may see. */
  private async report(route: ReportPath, raw: IncomingMessage): Promise<HttpAnswer> {
    checkIsOperator(await this.parts.authorizer.scopeOf(raw));
    const asked: Promise<object> = this.parts.reports[REPORTS[route]]();
    const report = await within(REPORT_PATIENCE, asked);
    if (report === undefined) throw queueUnavailable();
    return jsonAnswer(200, report);
  }

  /** Opens the stream of calls. Tenants see only their own. */
  private async calls(raw: IncomingMessage): Promise<StreamedAnswer> {
    const { tenant } = await this.parts.authorizer.scopeOf(raw);
    checkReader(raw);
    const since = String(raw.headers[LAST_EVENT_HEADER]);
    return this.parts.live.open(tenant, EVENT_NUMBER.test(since) ? Number(since) : undefined);
  }

  /** Opens the stream of changes of a destination or, for the operator, of the overview. */
  private async changes(raw: IncomingMessage): Promise<StreamedAnswer> {
    const { authorizer, changes, reports } = this.parts;
    const scope = await authorizer.scopeOf(raw);
    checkReader(raw);
    const input = new RequestInput(queryOf(raw.url ?? ''));
    const id = input.text('destination');
    input.check(['destination']);
    if (id === undefined) checkIsOperator(scope);
    const look = (): Promise<string> =>
      id === undefined ? reports.overviewText() : this.destinationText(id, scope);
    return changes.open(scope.tenant, look);
  }

  private async destinationText(id: string, scope: DestinationScope): Promise<string> {
    try {
      return JSON.stringify(await this.parts.reports.destination(id, scope));
    } catch (error) {
      throw errorFor(scope, error);
    }
  }

  private refusedData(error: unknown): HttpAnswer {
    const answer = answerToError(error);
    if (answer !== undefined) return answer;
    this.parts.logger.error(`A request of the console failed: ${thrownAt(error)}`);
    return refusedAnswer(internalError());
  }
}

/**
 * Keeps pages of other origins from occupying a stream, even if the application lets them send any header.
 *
 * @throws {RequestRefusal}
 */
function checkReader(raw: IncomingMessage): void {
  checkOrigin(raw);
  checkConsoleHeader(raw);
}

/** @throws {RequestRefusal} for a tenant */
function checkIsOperator({ tenant }: DestinationScope): void {
  if (tenant !== undefined) throw new RequestRefusal(404, 'NOT_FOUND', 'The console has no such path.');
}

function isReport(path: string): path is ReportPath {
  return Object.hasOwn(REPORTS, path);
}

/** Whether a path serves data that the page requests, and not a page or a file. */
function isData(path: string): boolean {
  return isReport(path) || STREAM_PATHS.includes(path);
}

function notServed(): RequestRefusal {
  return new RequestRefusal(
    500,
    'INTERNAL_ERROR',
    'The page could not be served. Its application has logged why.',
  );
}
