import { Inject } from '@nestjs/common';
import { AnalyticsService } from './analytics.service.js';

/** Returns the token under which the client of a source is provided. */
export function getAnalyticsToken(source: string): string {
  return `nestjs-analytics:source:${source}`;
}

/**
 * Injects the client of a source, by default of the first source. With `forRootAsync`, give the names of the sources
 * in the extra `sourceNames`.
 *
 * @example
 * constructor(@InjectAnalytics('mobile') private readonly analytics: AnalyticsService) {}
 */
export function InjectAnalytics(source?: string): PropertyDecorator & ParameterDecorator {
  return Inject(source === undefined ? AnalyticsService : getAnalyticsToken(source));
}
