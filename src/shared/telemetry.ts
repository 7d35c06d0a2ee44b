/** What a message carries through the queue about the call that made it. Never part of what is sent. */
export interface CallTrace {
  /** When the message was taken, in milliseconds since the epoch. */
  at: number;
  /** The span that the call was made in, in the format of W3C Trace Context. */
  traceparent?: string;
}

/** How a request ended. */
export interface RequestOutcome {
  class: 'delivered' | 'retry' | 'permanent';
  status?: number;
  error?: string;
}

/** A request to a URL of a destination. */
export interface TracedRequest {
  /** The destination's id. */
  destination: string;
  url: URL;
  /** Counts from 1. */
  attempt: number;
  /** The trace of each message in the request; `undefined` if a message carries none. */
  calls: readonly (CallTrace | undefined)[];
}

/** The span of a request. */
export interface RequestSpan {
  /** The header that the receiver gets; `undefined` for none. */
  traceparent: string | undefined;
  /** @param outcome `undefined` if the request was broken off */
  end(outcome: RequestOutcome | undefined): void;
}

/** Traces requests. */
export interface RequestTracing {
  /** @param ownerOf returns the owner of a destination's limit of spans: the same for all destinations of a tenant */
  shareBy(ownerOf: (destination: string) => string): void;
  /** Begins the span of a request. Returns `undefined` if nothing is to be recorded or sent. */
  begin(request: TracedRequest): RequestSpan | undefined;
}

/** Why a message was refused: few values, for a count of each. */
export type RefusalKind =
  'buffer_full' | 'backlog_full' | 'lookup_failed' | 'schema' | 'before_send' | 'forwarded_deletion';

/** Measures what happens to messages. An application that measures nothing has no `Telemetry`, and pays nothing. */
export interface Telemetry {
  /** `undefined` if the application does not trace. */
  readonly tracing: RequestTracing | undefined;
  /** A source has taken a message. @param tenant whose event it is, if the call or the source has said so */
  taken(source: string, tenant: string | undefined): void;
  /** Returns what the message of the current call carries, or `undefined` for nothing. */
  call(): CallTrace | undefined;
  refused(kind: RefusalKind): void;
  /** Messages that had failed for good were removed, since their destination had too many of them. */
  removed(destination: string, messages: number): void;
  /** Messages for a destination are in the queue. */
  queued(destination: string, messages: number): void;
  /**
   * A URL of a destination has answered a request, or failed to.
   *
   * @param duration milliseconds
   */
  attempted(destination: string, outcomeClass: string, duration: number): void;
  /** A message was delivered. @param latency milliseconds since the call */
  delivered(destination: string, latency: number): void;
}

/** Injection token of the `Telemetry`; `undefined` if the application measures nothing. */
export const TELEMETRY = Symbol('nestjs-analytics:telemetry');
