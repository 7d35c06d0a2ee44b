/** Attributes of the metrics that may take very many values. */
export interface MetricsOptions {
  /**
   * Whether each destination at run time is named by its id. Otherwise all of them share the name
   * `run-time`. @default false
   */
  eachDestination?: boolean | undefined;
  /** Whether messages are counted for each tenant that a call or a source names. @default false */
  tenants?: boolean | undefined;
}

/** Spans of requests, and what receivers learn of traces. */
export interface TracingOptions {
  /**
   * Whether requests to destinations have the header `traceparent`, so that a receiver of one's own belongs to
   * the same trace. @default false
   */
  propagate?: boolean | undefined;
  /**
   * How many requests a second have a span in this process; the rest have none and are counted. One destination, or
   * one tenant with all of its destinations, has half of them at most. An SDK drops spans that come faster than it
   * exports them, those of the application included: raise this with the queue of your span processor. `0` makes none. @default 1000
   */
  spansPerSecond?: number | undefined;
}
