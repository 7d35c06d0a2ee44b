import type { Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type {
  CallTrace,
  RequestOutcome,
  RequestSpan,
  RequestTracing,
  TracedRequest,
} from '../shared/telemetry.js';
import type { DestinationLabels } from './destination-labels.js';
import type { OpenTelemetryApi } from './open-telemetry.js';
import { SpanLimit } from './span-limit.js';

/** Version, trace, span and flags, as W3C Trace Context writes them. An id of zeros only is not valid. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
/** OpenTelemetry's own limit. */
const MAX_LINKS = 128;
/** The flag of a context whose trace is recorded. */
const SAMPLED = 1;

export interface TracingParts {
  api: OpenTelemetryApi;
  tracer: Tracer;
  labels: DestinationLabels;
  /** Maximum number of requests a second that have a span. */
  spansPerSecond: number;
  /** Whether receivers get `traceparent`. */
  propagate: boolean;
  /** Called with what the application's samplers and span processors throw. */
  onThrow: (error: unknown) => void;
  /** Called when a request has no span because there are too many. */
  onLeftOut: () => void;
}

interface Address {
  hostname: string;
  port: number;
}

/** Makes a span for each request to a URL, with the application's OpenTelemetry. */
export class Tracing implements RequestTracing {
  /** The span of the latest call. A request to the application often makes several calls. */
  private latest: { context: SpanContext; header: string | undefined } | undefined;
  /** The call that was checked last. Calls made at once share an object, and are often delivered one after another. */
  private latestCall: { call: CallTrace; isUnsampled: boolean } | undefined;
  private readonly addresses = new WeakMap<URL, Address>();
  private readonly limit: SpanLimit;
  private ownerOf = (destination: string): string => destination;

  constructor(private readonly parts: TracingParts) {
    this.limit = new SpanLimit(parts.spansPerSecond);
  }

  /** Number of requests without a span because there were too many. */
  get leftOut(): number {
    return this.limit.leftOut;
  }

  shareBy(ownerOf: (destination: string) => string): void {
    this.ownerOf = ownerOf;
  }

  /** Returns the span of the current call in the format that messages carry, or `undefined` outside of a trace. */
  traceparent(): string | undefined {
    const { api } = this.parts;
    const context = api.trace.getSpanContext(api.context.active());
    if (context === undefined) return undefined;
    if (this.latest?.context !== context) {
      const header = headerOf(context);
      // Faster than OpenTelemetry's own check, which looks at each character.
      this.latest = { context, header: TRACEPARENT.test(header) ? header : undefined };
    }
    return this.latest.header;
  }

  /**
   * Begins the span of a request, which links to the calls of the request's messages. A request with one message also
   * belongs to the trace of its call, and has no span if that trace is not sampled. A request with several messages
   * belongs to none of their traces, since they may be many. Above the limit, requests have no span.
   *
   * Errors of the application's own code must not reach the request: its messages would never be settled.
   */
  begin(request: TracedRequest): RequestSpan | undefined {
    try {
      return this.beginSpan(request);
    } catch (error) {
      this.parts.onThrow(error);
      return undefined;
    }
  }

  private beginSpan(request: TracedRequest): RequestSpan | undefined {
    const { api, tracer, labels } = this.parts;
    const { destination, attempt, calls } = request;
    const only = calls.length === 1 ? calls[0] : undefined;
    // Most requests of a busy destination have no span, so the rest of their calls is not read.
    if (only !== undefined && this.isUnsampled(only)) return this.passOn(only);
    const owner = this.ownerOf(destination);
    if (!this.limit.allows(owner)) {
      this.parts.onLeftOut();
      return this.passOn(only);
    }
    const links = linksTo(calls);
    const call = only === undefined ? undefined : links[0]?.context;
    const parent = call === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, call);
    const { hostname, port } = this.addressOf(request.url);
    const attributes = {
      'nestjs_analytics.destination': destination,
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': port,
    };
    const options = { kind: api.SpanKind.CLIENT, links, attributes };
    const span = tracer.startSpan(`deliver ${labels.of(destination)}`, options, parent);
    if (span.isRecording()) this.limit.add(owner);
    if (attempt > 1) span.setAttribute('http.request.resend_count', attempt - 1);
    if (calls.length > 1) span.setAttribute('messaging.batch.message_count', calls.length);
    return {
      traceparent: this.parts.propagate ? headerOf(span.spanContext()) : undefined,
      end: (outcome) => {
        try {
          this.end(span, outcome);
        } catch (error) {
          this.parts.onThrow(error);
        }
      },
    };
  }

  private isUnsampled(call: CallTrace): boolean {
    if (this.latestCall?.call !== call) this.latestCall = { call, isUnsampled: isUnsampled(call) };
    return this.latestCall.isUnsampled;
  }

  /** Begins no span. The receiver gets the context of the call itself, which says whether the call is sampled. */
  private passOn(only: CallTrace | undefined): RequestSpan | undefined {
    const traceparent = this.parts.propagate ? only?.traceparent : undefined;
    if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
    return { traceparent, end: doNothing };
  }

  private end(span: Span, outcome: RequestOutcome | undefined): void {
    if (outcome?.status !== undefined) span.setAttribute('http.response.status_code', outcome.status);
    if (outcome?.class !== 'delivered') {
      span.setAttribute('error.type', String(outcome?.error ?? outcome?.status ?? 'aborted'));
      span.setStatus({ code: this.parts.api.SpanStatusCode.ERROR });
    }
    span.end();
  }

  /** Returns only host and port: the rest of a URL may hold a secret. */
  private addressOf(url: URL): Address {
    let address = this.addresses.get(url);
    if (address === undefined) {
      const { hostname, port, protocol } = url;
      address = { hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
      this.addresses.set(url, address);
    }
    return address;
  }
}

/** Ends a request without a span. */
const doNothing = (): void => undefined;

function linksTo(calls: readonly (CallTrace | undefined)[]): Link[] {
  const links: Link[] = [];
  for (const call of calls) {
    const context = links.length < MAX_LINKS ? contextOf(call) : undefined;
    if (context !== undefined) links.push({ context });
  }
  return links;
}

function isUnsampled({ traceparent }: CallTrace): boolean {
  if (traceparent === undefined) return false;
  const flags = Number.parseInt(traceparent.slice(-2), 16);
  return (flags & SAMPLED) === 0 && TRACEPARENT.test(traceparent);
}

/** Parses and checks the context of a call: anyone with access to the queue may have written it. */
function contextOf(call: CallTrace | undefined): SpanContext | undefined {
  if (call?.traceparent === undefined) return undefined;
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(call.traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function headerOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
