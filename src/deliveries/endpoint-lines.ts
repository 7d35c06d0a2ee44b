import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import type { EndpointName } from '../webhooks/endpoint-state.js';

/** Writes the lines about endpoints. */
export interface EndpointLogger {
  error(message: string): void;
  warn(message: string): void;
  log(message: string): void;
}

export interface EndpointLine {
  level: keyof EndpointLogger;
  /** What the URL does, as the rest of a sentence. */
  text: string;
  /** Failed requests that the line covers. A summary adds up those of the lines that it replaces. */
  failures: number;
}

/** Lines that a URL may write within a minute. What it reports after that is summed up, once a minute. */
const LINES = 4;
/** Lines that all URLs of a destination may write in a minute, besides those summaries: more than five URLs can. */
const LINES_OF_DESTINATION = 25;
const MINUTE = 60_000;

/** What a URL has written lately, and what it has to report besides. */
interface Recent {
  /** When the lines of the last minute were written, by the clock. */
  written: number[];
  /** Set from a summary until a minute without changes is over. */
  isSummedUp: boolean;
  /** Changes and failed requests that were not written. */
  changes: number;
  failures: number;
}

/** Lines of a destination in the minute that began with the first of them. */
interface Minute {
  written: number;
  leftOut: number;
}

/**
 * Logs the state of URLs, in at most five lines within any minute. A URL that keeps changing is summed up, and so is a
 * destination whose URLs keep being replaced.
 */
export class EndpointLines {
  private readonly recent = new Map<string, Recent>();
  private readonly minutes = new Map<string, Minute>();

  constructor(
    private readonly logger: EndpointLogger,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  write(endpoint: EndpointName, { level, text, failures }: EndpointLine): void {
    const key = `${endpoint.destination} ${endpoint.url}`;
    let recent = this.recent.get(key);
    if (recent !== undefined && (recent.isSummedUp || recent.written.length >= LINES)) {
      recent.changes++;
      recent.failures += failures;
      return;
    }
    const minute = this.minuteOf(endpoint.destination);
    if (minute.written >= LINES_OF_DESTINATION) {
      minute.leftOut++;
      return;
    }
    minute.written++;
    if (recent === undefined) {
      recent = { written: [this.clock.now()], isSummedUp: false, changes: 0, failures: 0 };
      this.recent.set(key, recent);
      this.watch(endpoint, key, recent);
    } else recent.written.push(this.clock.now());
    this.logger[level](`${nameOf(endpoint)} ${text}`);
  }

  private minuteOf(destination: string): Minute {
    let minute = this.minutes.get(destination);
    if (minute === undefined) {
      const begun = (minute = { written: 0, leftOut: 0 });
      this.minutes.set(destination, begun);
      this.clock.afterUnlessIdle(MINUTE, () => {
        this.minutes.delete(destination);
        if (begun.leftOut === 0) return;
        this.logger.warn(
          `The destination "${destination}" had ${begun.leftOut} more lines about its URLs in the last minute, ` +
            'which were left out: its URLs are replaced again and again.',
        );
      });
    }
    return minute;
  }

  /** Looks again a minute after the oldest of the lines. */
  private watch(endpoint: EndpointName, key: string, recent: Recent): void {
    const [oldest] = recent.written;
    if (oldest === undefined) {
      this.recent.delete(key);
      return;
    }
    this.clock.afterUnlessIdle(oldest + MINUTE - this.clock.now(), () => {
      if (recent.changes > 0) this.sumUp(endpoint, recent);
      else {
        recent.isSummedUp = false;
        recent.written.shift();
      }
      this.watch(endpoint, key, recent);
    });
  }

  private sumUp(endpoint: EndpointName, recent: Recent): void {
    this.logger.warn(
      `${nameOf(endpoint)} takes some messages and not others: it changed ${recent.changes} times in the ` +
        `last minute, with ${recent.failures} failed requests. They are retried; its owner should check the ` +
        'receiver.',
    );
    recent.written = [this.clock.now()];
    recent.isSummedUp = true;
    recent.changes = 0;
    recent.failures = 0;
  }
}

function nameOf({ destination, url, origin }: EndpointName): string {
  const isCode = url === destination;
  return isCode
    ? `The destination "${destination}"`
    : `${origin} (URL ${url} of the destination "${destination}")`;
}
