import type { IncomingMessage } from 'node:http';
import {
  answerToError,
  internalError,
  jsonAnswer,
  queueUnavailable,
  refusedAnswer,
} from '../destinations-api/api-answer.js';
import type { Authorizer } from '../destinations-api/authorizer.js';
import { thrownAt } from '../errors/thrown-at.js';
import type { OwnRoutes } from '../http/host-routes.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { HttpHandler, type RequestLine, type RoutedRequest } from '../http/http-handler.js';
import { RequestRefusal } from '../http/request-refusal.js';
import { within } from '../shared/within.js';
import {
  CONSOLE_PATHS,
  fileAnswer,
  isConsoleFile,
  linkPageAnswer,
  pageAnswer,
  refusedPageAnswer,
} from './console-page.js';
import type { ConsoleReports } from './console-reports.js';
import { LINK_PATH } from './console.service.js';

/** How long a report may take, in milliseconds. */
const PATIENCE = 10_000;

/** What the page shows beside what the API of the destinations tells, by its path. */
const REPORTS = { '/overview': 'overview', '/sources': 'sources' } as const satisfies Record<
  string,
  keyof ConsoleReports
>;
type ReportPath = keyof typeof REPORTS;

const PATHS: readonly string[] = [...CONSOLE_PATHS, ...Object.keys(REPORTS)];

export interface ConsoleParts {
  authorizer: Pick<Authorizer, 'scopeOf'>;
  /** Where the page is. */
  path: string;
  /** Which pages may show that of a link in a frame. */
  frameAncestors: readonly string[];
  /** Where the API is that it speaks to. */
  apiPath: string;
  reports: Pick<ConsoleReports, 'overview' | 'sources'>;
  logger: { error(message: string): void };
}

/** Serves the page of the console and its files. */
export class ConsoleHandler extends HttpHandler<string> {
  readonly routes: OwnRoutes;
  readonly isOpenToPages = false;
  /** Its requests have no bodies. */
  protected readonly maxBytes = 0;

  constructor(private readonly parts: ConsoleParts) {
    super();
    this.routes = {
      name: 'The console',
      method: 'GET',
      paths: PATHS.map((own) => parts.path + own),
      isTree: false,
      option: "console: { path: '/admin/analytics' }",
    };
  }

  /** The path below that of the console. */
  protected routeOf({ method, url = '' }: RequestLine): string | undefined {
    const { path } = this.parts;
    if (!url.startsWith(path) || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const below = url.slice(path.length).replace(/[?#].*$/s, '');
    const route = below === '/' ? '' : below;
    return PATHS.includes(route) ? route : undefined;
  }

  protected async answerTo({ route, raw }: RoutedRequest<string>): Promise<HttpAnswer> {
    const { authorizer, path, apiPath, frameAncestors, logger } = this.parts;
    try {
      // The files are the same for everybody, and are published.
      if (isConsoleFile(route)) return await fileAnswer(route);
      if (isReport(route)) return await this.report(route, raw);
      // What it shows is asked for with what is behind the `#` of the link.
      if (route === LINK_PATH) return linkPageAnswer(path, apiPath, frameAncestors);
      return pageAnswer(path, apiPath, await authorizer.scopeOf(raw));
    } catch (error) {
      if (isReport(route)) return this.refusedReport(error);
      if (error instanceof RequestRefusal) return refusedPageAnswer(error);
      logger.error(`The console could not be served: ${thrownAt(error)}.`);
      return refusedPageAnswer(notServed());
    }
  }

  /** What only the operator may see. */
  private async report(route: ReportPath, raw: IncomingMessage): Promise<HttpAnswer> {
    const { tenant } = await this.parts.authorizer.scopeOf(raw);
    if (tenant !== undefined) throw new RequestRefusal(404, 'NOT_FOUND', 'The console has no such path.');
    const asked: Promise<object> = this.parts.reports[REPORTS[route]]();
    const report = await within(PATIENCE, asked);
    if (report === undefined) throw queueUnavailable();
    return jsonAnswer(200, report);
  }

  private refusedReport(error: unknown): HttpAnswer {
    const answer = answerToError(error);
    if (answer !== undefined) return answer;
    this.parts.logger.error(`A request of the console failed: ${thrownAt(error)}`);
    return refusedAnswer(internalError());
  }
}

function isReport(path: string): path is ReportPath {
  return Object.hasOwn(REPORTS, path);
}

function notServed(): RequestRefusal {
  return new RequestRefusal(
    500,
    'INTERNAL_ERROR',
    'The page could not be served. Its application has logged why.',
  );
}
