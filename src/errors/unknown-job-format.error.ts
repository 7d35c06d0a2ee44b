import { AnalyticsError } from './analytics.error.js';

/** A job was written by another version of this package, in a format that this one cannot read. */
export class UnknownJobFormatError extends AnalyticsError {
  readonly code = 'UNKNOWN_JOB_FORMAT';

  constructor(version: unknown) {
    super(
      `The job has the format ${JSON.stringify(version)}, which this version of nestjs-analytics cannot read. ` +
        `It is kept as failed; retry it with workers of the version that wrote it, or a newer one.`,
    );
  }
}
