import { FAILURES_UNTIL_DOWN, type Destination, type UrlOutcome } from '../destinations/destination.js';
import type { EndpointEvent } from './delivery-events.js';
import { adviceOn } from './endpoint-advice.js';
import type { EventChannel } from './event-channel.js';

/** Where the state of endpoints is told to. */
export interface EndpointLogger {
  error(message: string): void;
  warn(message: string): void;
  log(message: string): void;
}

/** What is wrong with a URL: since it last took an event, or was first asked. */
interface Trouble {
  since: number;
  failures: number;
  failedMessages: number;
  /** Failures in a row that are retried, and refusals in a row. */
  retries: number;
  refusals: number;
  isDown: boolean;
  /** What the log was told of it. */
  told: Set<string>;
  latest: UrlOutcome;
}

/**
 * Tells when a URL stops taking events and when it takes them again, with the counts of what happened in
 * between: one line each, not one an event.
 */
export class EndpointLog {
  private readonly troubles = new Map<string, Trouble>();

  constructor(
    private readonly logger: EndpointLogger,
    private readonly events: EventChannel<EndpointEvent>,
  ) {}

  /** A request to a URL came to something. */
  record(destination: Destination, outcome: UrlOutcome): void {
    if (outcome.class === 'delivered') {
      this.recover(destination, outcome);
      return;
    }
    const trouble = this.troubleOf(destination, outcome);
    trouble.latest = outcome;
    trouble.failures++;
    trouble.retries = outcome.class === 'retry' ? trouble.retries + 1 : 0;
    trouble.refusals = outcome.class === 'retry' ? 0 : trouble.refusals + 1;
    this.tell(destination, trouble);
    if (trouble.retries >= FAILURES_UNTIL_DOWN && !trouble.isDown) {
      trouble.isDown = true;
      this.emit('down', destination, trouble);
    }
  }

  /** A message failed for good, after these outcomes. */
  recordFailed(destination: Destination, outcomes: readonly UrlOutcome[]): void {
    for (const outcome of outcomes) {
      const trouble = this.troubleOf(destination, outcome);
      if (++trouble.failedMessages === 1) this.emit('exhausted', destination, trouble);
    }
  }

  private troubleOf(destination: Destination, outcome: UrlOutcome): Trouble {
    const key = keyOf(destination, outcome);
    const known = this.troubles.get(key);
    if (known !== undefined) return known;
    const trouble: Trouble = {
      since: outcome.at,
      failures: 0,
      failedMessages: 0,
      retries: 0,
      refusals: 0,
      isDown: false,
      told: new Set(),
      latest: outcome,
    };
    this.troubles.set(key, trouble);
    return trouble;
  }

  private recover(destination: Destination, outcome: UrlOutcome): void {
    const key = keyOf(destination, outcome);
    const trouble = this.troubles.get(key);
    if (trouble === undefined) return;
    this.troubles.delete(key);
    if (trouble.told.size > 0) {
      const seconds = Math.round((outcome.at + outcome.duration - trouble.since) / 1000);
      const failed = trouble.failedMessages > 0 ? ` ${trouble.failedMessages} messages failed for good.` : '';
      this.logger.log(
        `${nameOf(destination, outcome)} takes events again, after ${seconds} s and ${trouble.failures} failed ` +
          `requests.${failed}`,
      );
    }
    trouble.latest = outcome;
    if (trouble.isDown || trouble.failedMessages > 0) this.emit('up', destination, trouble);
  }

  private tell(destination: Destination, { latest, refusals, told }: Trouble): void {
    const advice = adviceOn(latest, refusals);
    if (advice === undefined || told.has(advice.text)) return;
    told.add(advice.text);
    const answer = latest.status === undefined ? (latest.error ?? 'no answer') : `status ${latest.status}`;
    this.logger[advice.level](
      `${nameOf(destination, latest)} does not take events: ${answer}. ${advice.text}`,
    );
  }

  private emit(type: EndpointEvent['type'], destination: Destination, trouble: Trouble): void {
    if (!this.events.isObserved) return;
    const { since, failures, failedMessages, latest } = trouble;
    this.events.emit({
      type,
      destination: destination.id,
      origin: destination.origin(latest.url),
      url: latest.url,
      since,
      failures,
      failedMessages,
      ...(latest.status !== undefined && { status: latest.status }),
      ...(latest.error !== undefined && { error: latest.error }),
    });
  }
}

function keyOf(destination: Destination, outcome: UrlOutcome): string {
  return `${destination.id} ${outcome.url}`;
}

function nameOf(destination: Destination, { url }: UrlOutcome): string {
  return `${destination.origin(url)} (URL ${url} of the destination "${destination.id}")`;
}
