import type { UrlOutcome } from '../queue/batch-job.js';
import { countOf } from '../shared/count-of.js';
import type { RequestTracing, Telemetry } from '../shared/telemetry.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { EndpointName, EndpointObserver, RequestDetails } from '../webhooks/endpoint-state.js';
import type { EndpointEvent, EndpointStateEvent } from './delivery-events.js';
import { type EndpointHint, hintFor, TIME_OVER } from './endpoint-hint.js';
import { type EndpointLogger, EndpointLines } from './endpoint-lines.js';
import type { EventChannel } from './event-channel.js';

/** A URL that takes no messages at the moment. */
export interface DownEndpoint extends EndpointName {
  /** Time of the first failure in a row, in milliseconds since the epoch. */
  since: number;
}

/** What went wrong at a URL since it last took a message, or since its first request. */
interface Trouble {
  endpoint: EndpointName;
  since: number;
  failures: number;
  failedMessages: number;
  isDown: boolean;
  /** Kinds of hints that were already logged. */
  told: Set<string>;
  latest: UrlOutcome;
}

/**
 * Reports when a URL stops taking messages and when it takes them again, with the counts of what happened in between:
 * as events, and in the log with a few lines a minute for each URL.
 */
export class EndpointLog implements EndpointObserver {
  private readonly troubles = new Map<string, Trouble>();
  private readonly lines: EndpointLines;

  /** @param configured ids of the destinations of the options */
  constructor(
    logger: EndpointLogger,
    configured: ReadonlySet<string>,
    private readonly events: EventChannel<EndpointEvent>,
    private readonly telemetry?: Telemetry,
  ) {
    this.lines = new EndpointLines(logger, configured);
  }

  /**
   * Limits the lines about destinations of each tenant.
   *
   * @param tenantOf returns the tenant of a destination, if known
   */
  limitTenants(tenantOf: (destination: string) => string | undefined): void {
    this.lines.tenantOf = tenantOf;
  }

  get tracing(): RequestTracing | undefined {
    return this.telemetry?.tracing;
  }

  /** The URLs that are down. */
  get down(): DownEndpoint[] {
    return [...this.troubles.values()]
      .filter(({ isDown }) => isDown)
      .map(({ endpoint: { destination, url, origin }, since }) => ({ destination, url, origin, since }));
  }

  onRequest({ destination }: EndpointName, { class: outcomeClass, duration }: UrlOutcome): void {
    this.telemetry?.attempted(destination, outcomeClass, duration);
  }

  onOutcome(endpoint: EndpointName, outcome: UrlOutcome, details?: RequestDetails): void {
    if (outcome.class === 'delivered') {
      this.recover(endpoint, outcome);
      return;
    }
    const trouble = this.troubleOf(endpoint, outcome);
    trouble.latest = outcome;
    trouble.failures++;
    this.tell(endpoint, trouble, details);
  }

  onDown(endpoint: EndpointName, _failures: number, latest: UrlOutcome): void {
    const trouble = this.troubleOf(endpoint, latest);
    trouble.isDown = true;
    this.emit('down', endpoint, trouble);
  }

  onUp(endpoint: EndpointName, latest: UrlOutcome): void {
    const trouble = this.troubles.get(keyOf(endpoint));
    if (trouble?.isDown !== true) return;
    trouble.isDown = false;
    trouble.latest = latest;
    this.emit('up', endpoint, trouble);
    if (latest.class === 'delivered') this.troubles.delete(keyOf(endpoint));
  }

  onGone(endpoint: EndpointName): void {
    this.troubles.delete(keyOf(endpoint));
  }

  /** Called when a message failed for good, after this outcome of a URL. */
  onMessageFailed(endpoint: EndpointName, outcome: UrlOutcome): void {
    const trouble = this.troubleOf(endpoint, outcome);
    if (++trouble.failedMessages === 1) this.emit('exhausted', endpoint, trouble);
    // For a refusal, the line about the first refusal has already said that messages are kept as failed.
    if (outcome.class === 'retry' && !trouble.told.has(TIME_OVER.kind)) {
      trouble.told.add(TIME_OVER.kind);
      this.lines.write(endpoint, { ...TIME_OVER, failures: 0 });
    }
  }

  /** Writes the pending summaries at once, since no lines follow. */
  close(): void {
    this.lines.close();
  }

  private troubleOf(endpoint: EndpointName, outcome: UrlOutcome): Trouble {
    const key = keyOf(endpoint);
    const known = this.troubles.get(key);
    if (known !== undefined) return known;
    const trouble: Trouble = {
      endpoint,
      since: outcome.at,
      failures: 0,
      failedMessages: 0,
      isDown: false,
      told: new Set(),
      latest: outcome,
    };
    this.troubles.set(key, trouble);
    return trouble;
  }

  private recover(endpoint: EndpointName, outcome: UrlOutcome): void {
    // Runs for every message, and there is nearly always no trouble at all.
    if (this.troubles.size === 0) return;
    const key = keyOf(endpoint);
    const trouble = this.troubles.get(key);
    if (trouble === undefined) return;
    trouble.latest = outcome;
    if (trouble.told.size > 0) {
      const seconds = Math.round((outcome.at + outcome.duration - trouble.since) / 1000);
      const failed =
        trouble.failedMessages > 0 ? ` ${countOf(trouble.failedMessages, 'message')} failed for good.` : '';
      this.lines.write(endpoint, {
        level: 'log',
        text: `takes events again, after ${seconds} s and ${countOf(trouble.failures, 'failed request')}.${failed}`,
        failures: trouble.failures,
      });
    }
    // While the URL is down, the breaker decides when it is up again.
    if (trouble.isDown) return;
    this.troubles.delete(key);
    if (trouble.failedMessages > 0) this.emit('up', endpoint, trouble);
  }

  private tell(endpoint: EndpointName, { latest, told }: Trouble, details?: RequestDetails): void {
    const hint: EndpointHint = hintFor(endpoint, latest, details);
    if (told.has(hint.kind)) return;
    told.add(hint.kind);
    const answer = latest.status === undefined ? (latest.error ?? 'no answer') : `status ${latest.status}`;
    const place = details?.thrown === undefined ? '' : ` (threw ${thrownAt(details.thrown.error)})`;
    this.lines.write(endpoint, {
      level: hint.level,
      text: `does not take events: ${answer}${place}. ${hint.text}`,
      failures: 0,
    });
  }

  private emit(type: EndpointStateEvent['type'], endpoint: EndpointName, trouble: Trouble): void {
    if (!this.events.isObserved) return;
    const { since, failures, failedMessages, latest } = trouble;
    this.events.emit({
      type,
      destination: endpoint.destination,
      origin: endpoint.origin,
      url: endpoint.url,
      since,
      failures,
      failedMessages,
      ...(latest.status !== undefined && { status: latest.status }),
      ...(latest.error !== undefined && { error: latest.error }),
    });
  }
}

function keyOf({ destination, url }: EndpointName): string {
  return `${destination} ${url}`;
}
