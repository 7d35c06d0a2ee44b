/** Name of the BullMQ queue that carries the batches: what `@InjectQueue` takes and dashboards show. */
export const ANALYTICS_QUEUE = 'analytics';

/** The database under the queue, as a provider. */
export const QUEUE_BACKEND = Symbol.for('nestjs-analytics:queue-backend');
