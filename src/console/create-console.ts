import { Authorizer } from '../destinations-api/authorizer.js';
import type { ConsoleLinks } from '../destinations-api/links/console-links.js';
import type { ResolvedConsole } from '../options/resolve-console.js';
import { LimitedErrors } from '../queue/limited-errors.js';
import { LimitedLog } from '../queue/limited-log.js';
import { ChangeStreams } from './change-streams.js';
import { ConsoleHandler } from './console.handler.js';
import type { LiveEvents } from '../live/live-events.js';
import type { LiveFeed } from '../live/live-feed.js';
import { ConsoleReports, type ReportParts } from './console-reports.js';
import { LiveStreams } from './live-streams.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

interface ConsoleParts {
  /** Path of the API that the page calls. */
  apiPath: string;
  links: ConsoleLinks | undefined;
  reports: ReportParts;
  feed: LiveFeed;
  live: LiveEvents;
  /** In milliseconds. */
  shutdownTimeout: number;
}

export function createConsole(
  { path, authorize, frameAncestors }: ResolvedConsole,
  { apiPath, links, reports, feed, live, shutdownTimeout }: ConsoleParts,
): ConsoleHandler {
  const logger = new AnalyticsLogger();
  const lines = new LimitedLog(logger, () => performance.now());
  const errors = new LimitedErrors(logger);
  return new ConsoleHandler({
    authorizer: new Authorizer(authorize, 'console.authorize', lines, links),
    path,
    frameAncestors,
    apiPath,
    reports: new ConsoleReports(reports),
    live: new LiveStreams({ feed, live, logger: errors }),
    changes: new ChangeStreams(errors),
    logger: errors,
    shutdownTimeout,
  });
}
