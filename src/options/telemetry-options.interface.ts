/** Metric attributes that can have very many values. */
export interface MetricsOptions {
  /**
   * Whether metrics name each run-time destination by its id. Otherwise all of them share the name `run-time`.
   * @default false
   */
  eachDestination?: boolean | undefined;
  /** Whether messages are counted for each tenant that a call or a source names. @default false */
  tenants?: boolean | undefined;
}

/** Spans of requests, and the trace headers for receivers. */
export interface TracingOptions {
  /**
   * Whether requests to destinations have the header `traceparent`, so that your own receivers join the same trace.
   * @default false
   */
  propagate?: boolean | undefined;
  /**
   * Largest number of requests per second that have a span in this process; the others have none and are counted.
   * One destination, or one tenant with all of its destinations, has at most half of the spans. An SDK drops spans that
   * come faster than it exports them, also those of the application: raise this together with the queue size of your
   * span processor. `0` makes no spans. @default 1000
   */
  spansPerSecond?: number | undefined;
}
