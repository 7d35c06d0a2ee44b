import type { Attributes, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type {
  CallTrace,
  RequestOutcome,
  RequestSpan,
  RequestTracing,
  TracedRequest,
} from '../shared/telemetry.js';
import type { DestinationLabels } from './destination-labels.js';
import type { OpenTelemetryApi } from './open-telemetry.js';

/** Version, trace, span and flags, as W3C Trace Context writes them. Ids of zeros alone are not valid. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
/** OpenTelemetry's own limit. */
const MAX_LINKS = 128;
/** The flag of a context whose trace is recorded. */
const SAMPLED = 1;

export interface TracingParts {
  api: OpenTelemetryApi;
  tracer: Tracer;
  labels: DestinationLabels;
  /** Whether receivers get `traceparent`. */
  propagate: boolean;
}

/** Makes a span of each request to a URL, with the application's OpenTelemetry. */
export class Tracing implements RequestTracing {
  /** Of the span that a call was made in last: requests often make several. */
  private latest: { context: SpanContext; header: string | undefined } | undefined;
  private readonly addresses = new WeakMap<URL, Attributes>();

  constructor(private readonly parts: TracingParts) {}

  /** The span of the current call, as a message carries it; `undefined` outside of a trace. */
  traceparent(): string | undefined {
    const { api } = this.parts;
    const context = api.trace.getSpanContext(api.context.active());
    if (context === undefined) return undefined;
    if (this.latest?.context !== context) {
      const header = headerOf(context);
      // OpenTelemetry's own check looks at each character.
      this.latest = { context, header: TRACEPARENT.test(header) ? header : undefined };
    }
    return this.latest.header;
  }

  /**
   * Begins a span of a request. It links to the calls of its messages. A request with one message also
   * belongs to the trace of its call, and has no span if that trace is not sampled. A request with several
   * messages belongs to none of their traces, since they may be many.
   */
  begin(request: TracedRequest): RequestSpan | undefined {
    const { api, tracer, labels } = this.parts;
    const calls = request.calls.flatMap(contextOf).slice(0, MAX_LINKS);
    const [call] = request.calls.length === 1 ? calls : [];
    if (call !== undefined && (call.traceFlags & SAMPLED) === 0) return this.unsampled(call);
    const parent = call === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, call);
    const name = `deliver ${labels.of(request.destination)}`;
    const links = calls.map((context) => ({ context }));
    const options = { kind: api.SpanKind.CLIENT, links, attributes: this.attributesOf(request) };
    const span = tracer.startSpan(name, options, parent);
    return {
      traceparent: this.parts.propagate ? headerOf(span.spanContext()) : undefined,
      end: (outcome) => {
        this.end(span, outcome);
      },
    };
  }

  /** Receivers are told of the trace all the same, and that nobody records it. */
  private unsampled(call: SpanContext): RequestSpan | undefined {
    return this.parts.propagate ? { traceparent: headerOf(call), end: () => undefined } : undefined;
  }

  private end(span: Span, outcome: RequestOutcome | undefined): void {
    if (outcome?.status !== undefined) span.setAttribute('http.response.status_code', outcome.status);
    if (outcome?.class !== 'delivered') {
      span.setAttribute('error.type', String(outcome?.error ?? outcome?.status ?? 'aborted'));
      span.setStatus({ code: this.parts.api.SpanStatusCode.ERROR });
    }
    span.end();
  }

  private attributesOf({ destination, url, attempt, calls }: TracedRequest): Attributes {
    let address = this.addresses.get(url);
    if (address === undefined) this.addresses.set(url, (address = addressOf(url)));
    return {
      'nestjs_analytics.destination': destination,
      'http.request.method': 'POST',
      ...address,
      ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
      ...(calls.length > 1 && { 'messaging.batch.message_count': calls.length }),
    };
  }
}

/** The URL's host and port; the rest of it may hold a secret. */
function addressOf(url: URL): Attributes {
  const { hostname, port, protocol } = url;
  return {
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}

/** Anyone with access to the queue may have written it. */
function contextOf(call: CallTrace | undefined): SpanContext[] {
  if (call?.traceparent === undefined) return [];
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(call.traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }];
}

function headerOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
