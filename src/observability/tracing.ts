import type { Attributes, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
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

export interface TracingParts {
  api: OpenTelemetryApi;
  tracer: Tracer;
  labels: DestinationLabels;
  /** Whether receivers get `traceparent`. */
  propagate: boolean;
}

/** Makes a span of each request to a URL, with the application's OpenTelemetry. */
export class Tracing implements RequestTracing {
  constructor(private readonly parts: TracingParts) {}

  /** The span of the current call, as a message carries it; `undefined` outside of a trace. */
  traceparent(): string | undefined {
    const { api } = this.parts;
    const context = api.trace.getSpanContext(api.context.active());
    if (context === undefined) return undefined;
    const header = headerOf(context);
    // OpenTelemetry's own check looks at each character, and every call comes here.
    return TRACEPARENT.test(header) ? header : undefined;
  }

  /**
   * Begins a span of a request. It links to the calls of its messages. A request with one message also
   * belongs to the trace of its call; one with several cannot, since it may have been many traces.
   */
  begin(request: TracedRequest): RequestSpan {
    const { api, tracer, labels } = this.parts;
    const links = request.calls.flatMap(linkTo).slice(0, MAX_LINKS);
    const [link] = links;
    const parent =
      link !== undefined && request.calls.length === 1
        ? api.trace.setSpanContext(api.ROOT_CONTEXT, link.context)
        : api.ROOT_CONTEXT;
    const name = `deliver ${labels.of(request.destination)}`;
    const options = { kind: api.SpanKind.CLIENT, links, attributes: attributesOf(request) };
    const span = tracer.startSpan(name, options, parent);
    return {
      traceparent: this.parts.propagate ? headerOf(span.spanContext()) : undefined,
      end: (outcome) => {
        this.end(span, outcome);
      },
    };
  }

  private end(span: Span, outcome: RequestOutcome | undefined): void {
    if (outcome?.status !== undefined) span.setAttribute('http.response.status_code', outcome.status);
    if (outcome?.class !== 'delivered') {
      span.setAttribute('error.type', String(outcome?.error ?? outcome?.status ?? 'aborted'));
      span.setStatus({ code: this.parts.api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}

/** The rest of the URL may hold a secret. */
function attributesOf({ destination, url, attempt, calls }: TracedRequest): Attributes {
  return {
    'nestjs_analytics.destination': destination,
    'http.request.method': 'POST',
    'server.address': url.hostname,
    'server.port': url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
    ...(calls.length > 1 && { 'messaging.batch.message_count': calls.length }),
  };
}

/** Anyone with access to the queue may have written it. */
function linkTo(call: CallTrace | undefined): Link[] {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(call?.traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}

function headerOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
