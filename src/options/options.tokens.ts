/** The checked options with every default filled in. */
export const RESOLVED_OPTIONS = Symbol.for('nestjs-analytics:resolved-options');

/** The extra `trackingApi` of `forRoot`, as a value. */
export const TRACKING_API_EXTRA = Symbol.for('nestjs-analytics:tracking-api');

/** The extra `sourceNames` of `forRoot`, as a value. */
export const SOURCE_NAMES_EXTRA = Symbol.for('nestjs-analytics:source-names');

/** The extra `worker` of `forRoot`, as a value. */
export const WORKER_EXTRA = Symbol.for('nestjs-analytics:worker');
