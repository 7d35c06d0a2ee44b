import { AnalyticsError } from './analytics.error.js';

/** `trackingApi` is asked for on a web server that is neither Express nor Fastify. */
export class UnsupportedAdapterError extends AnalyticsError {
  readonly code = 'UNSUPPORTED_ADAPTER';

  constructor(adapter: string) {
    super(
      `The tracking API cannot be mounted on the HTTP adapter "${adapter}". Use @nestjs/platform-express or ` +
        `@nestjs/platform-fastify, or leave out \`trackingApi\`.`,
    );
  }
}
