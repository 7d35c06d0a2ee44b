import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { countOf } from '../shared/count-of.js';
import type { EndpointName } from '../webhooks/endpoint-state.js';
import { LaterLines } from './later-lines.js';

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
/** Lines in a minute about all destinations that were added at run time, with those summaries. There may be thousands. */
const LINES_OF_OTHERS = 100;
/** What these are counted by. No destination has an empty id. */
const OTHERS = '';
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

/** Lines in the minute that began with the first of them. */
interface Minute {
  readonly most: number;
  written: number;
  leftOut: number;
}

/**
 * Logs the state of URLs, in at most five lines within any minute. A URL that keeps changing is summed up, and so is a
 * destination whose URLs keep being replaced. Where the destinations of many customers fail together, most are counted
 * only, so that they leave the log to others; the destinations of the options always get their lines.
 */
export class EndpointLines {
  private readonly recent = new Map<string, Recent>();
  private readonly minutes = new Map<string, Minute>();
  private readonly summaries: LaterLines;

  /** @param configured ids of the destinations of the options */
  constructor(
    private readonly logger: EndpointLogger,
    private readonly configured: ReadonlySet<string>,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.summaries = new LaterLines(clock);
  }

  write(endpoint: EndpointName, { level, text, failures }: EndpointLine): void {
    const key = `${endpoint.destination} ${endpoint.url}`;
    let recent = this.recent.get(key);
    if (recent !== undefined && (recent.isSummedUp || recent.written.length >= LINES)) {
      recent.changes++;
      recent.failures += failures;
      return;
    }
    if (!this.takeLine([this.minuteOfDestination(endpoint.destination), ...this.minuteOfOthers(endpoint)]))
      return;
    if (recent === undefined) {
      recent = { written: [this.clock.now()], isSummedUp: false, changes: 0, failures: 0 };
      this.recent.set(key, recent);
      this.watch(endpoint, key, recent);
    } else recent.written.push(this.clock.now());
    this.logger[level](`${nameOf(endpoint)} ${text}`);
  }

  /** Sums up what is left, since nothing follows. */
  close(): void {
    this.summaries.close();
  }

  private minuteOfDestination(destination: string): Minute {
    return this.minuteOf(destination, LINES_OF_DESTINATION, (leftOut) => {
      const lines = `The destination "${destination}" had ${countOf(leftOut, 'more line')} about its URLs in the last minute`;
      return `${lines}, left out here: its URLs are replaced again and again.`;
    });
  }

  /** That of all destinations that were added at run time, if it is one. Those of code have no URL. */
  private minuteOfOthers({ destination, url }: EndpointName): Minute[] {
    if (url === destination || this.configured.has(destination)) return [];
    const minute = this.minuteOf(OTHERS, LINES_OF_OTHERS, (leftOut) => {
      const lines = `${countOf(leftOut, 'more line')} about URLs of destinations that were added at run time ${leftOut === 1 ? 'was' : 'were'} left out in the last minute`;
      return `${lines}. \`endpoints$\`, the metrics and the console report each.`;
    });
    return [minute];
  }

  private minuteOf(key: string, most: number, summary: (leftOut: number) => string): Minute {
    let minute = this.minutes.get(key);
    if (minute === undefined) {
      const begun = (minute = { most, written: 0, leftOut: 0 });
      this.minutes.set(key, begun);
      this.summaries.after(MINUTE, () => {
        this.minutes.delete(key);
        if (begun.leftOut > 0) this.logger.warn(summary(begun.leftOut));
      });
    }
    return minute;
  }

  /** Whether all of these minutes have room for a line. */
  private takeLine(minutes: readonly Minute[]): boolean {
    const full = minutes.find(({ written, most }) => written >= most);
    if (full !== undefined) {
      full.leftOut++;
      return false;
    }
    for (const minute of minutes) minute.written++;
    return true;
  }

  /** Looks again a minute after the oldest of the lines. */
  private watch(endpoint: EndpointName, key: string, recent: Recent): void {
    const [oldest] = recent.written;
    if (oldest === undefined) {
      this.recent.delete(key);
      return;
    }
    this.summaries.after(oldest + MINUTE - this.clock.now(), () => {
      if (recent.changes > 0) this.sumUp(endpoint, recent);
      else {
        recent.isSummedUp = false;
        recent.written.shift();
      }
      this.watch(endpoint, key, recent);
    });
  }

  private sumUp(endpoint: EndpointName, recent: Recent): void {
    if (this.takeLine(this.minuteOfOthers(endpoint))) {
      this.logger.warn(
        `${nameOf(endpoint)} takes some messages and not others: it changed ${recent.changes} times in the ` +
          `last minute, with ${countOf(recent.failures, 'failed request')}. They are retried; its owner should check the ` +
          'receiver.',
      );
    }
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
