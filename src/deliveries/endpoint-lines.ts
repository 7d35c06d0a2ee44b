import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { countOf } from '../shared/count-of.js';
import { quoted } from '../shared/quoted.js';
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
  /** What the URL does, as a sentence without its subject. */
  text: string;
  /** Number of failed requests that the line covers. A summary adds up the numbers of the lines that it replaces. */
  failures: number;
}

/** Maximum number of lines about a URL within a minute. Further lines are summed up, once a minute. */
const LINES = 4;
/** Maximum number of lines a minute about a destination, without summaries. Its URLs, at most five, write fewer. */
const LINES_OF_DESTINATION = 25;
/** Maximum number of lines a minute, with summaries, about destinations added at run time. There may be thousands. */
const LINES_OF_OTHERS = 100;
/** The same about those of one tenant. */
const LINES_OF_TENANT = 25;
/** Key by which the lines about those destinations are counted. No destination has an empty id. */
const OTHERS = '';
const MINUTE = 60_000;

/** Recent lines about a URL, and counts of what was left out. */
interface Recent {
  /** Times at which the lines of the last minute were written, by the clock. */
  written: number[];
  /** Set by a summary, until a minute passes without changes. */
  isSummedUp: boolean;
  /** Changes and failed requests that were not written. */
  changes: number;
  failures: number;
}

/** Counts of lines in a minute, which begins with its first line. */
interface Minute {
  readonly most: number;
  written: number;
  leftOut: number;
}

/**
 * Logs the state of URLs, in at most five lines about each within any minute. A URL that keeps changing is summed up,
 * and so is a destination whose URLs keep being replaced. If the destinations of many customers fail together, most
 * lines are only counted, to leave the log to others. No customer gets all of these lines. Destinations of the options
 * always get their lines.
 */
export class EndpointLines {
  /** Returns the tenant of a destination that was added at run time, if it has one. */
  tenantOf: (destination: string) => string | undefined = () => undefined;
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
    if (!this.takeLine([this.minuteOfDestination(endpoint.destination), ...this.minutesOfOthers(endpoint)]))
      return;
    if (recent === undefined) {
      recent = { written: [this.clock.now()], isSummedUp: false, changes: 0, failures: 0 };
      this.recent.set(key, recent);
      this.watch(endpoint, key, recent);
    } else recent.written.push(this.clock.now());
    this.logger[level](`${nameOf(endpoint)} ${text}`);
  }

  /** Writes the pending summaries at once, since no lines follow. */
  close(): void {
    this.summaries.close();
  }

  private minuteOfDestination(destination: string): Minute {
    return this.minuteOf(destination, LINES_OF_DESTINATION, (leftOut) => {
      const lines = `${countOf(leftOut, 'more line')} about URLs of the destination "${destination}" ${leftOut === 1 ? 'was' : 'were'} left out in the last minute`;
      return `${lines}: its URLs keep being replaced.`;
    });
  }

  /** Returns the minutes of destinations added at run time, as far as they apply. Destinations in code have no URL. */
  private minutesOfOthers({ destination, url }: EndpointName): Minute[] {
    if (url === destination || this.configured.has(destination)) return [];
    const tenant = this.tenantOf(destination);
    const all = this.minuteOf(OTHERS, LINES_OF_OTHERS, (leftOut) => {
      const lines = `${countOf(leftOut, 'more line')} about URLs of destinations that were added at run time ${leftOut === 1 ? 'was' : 'were'} left out in the last minute`;
      return `${lines}. \`endpoints$\`, the metrics and the console report each.`;
    });
    return tenant === undefined ? [all] : [this.minuteOfTenant(tenant), all];
  }

  private minuteOfTenant(tenant: string): Minute {
    // No id of a destination begins like this.
    return this.minuteOf(`\u0000${tenant}`, LINES_OF_TENANT, (leftOut) => {
      const lines = `${countOf(leftOut, 'more line')} about URLs of destinations of the tenant ${quoted(tenant)} ${leftOut === 1 ? 'was' : 'were'} left out in the last minute`;
      return `${lines}. \`endpoints$\`, the metrics and the console report each.`;
    });
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

  /** Counts a line in each of these minutes if all have room for it. Returns whether they have. */
  private takeLine(minutes: readonly Minute[]): boolean {
    const full = minutes.find(({ written, most }) => written >= most);
    if (full !== undefined) {
      full.leftOut++;
      return false;
    }
    for (const minute of minutes) minute.written++;
    return true;
  }

  /** Checks the URL again a minute after the oldest of its lines. */
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
    if (this.takeLine(this.minutesOfOthers(endpoint))) {
      this.logger.warn(
        `${nameOf(endpoint)} takes some messages and not others: it changed ${recent.changes} times in the ` +
          `last minute, with ${countOf(recent.failures, 'failed request')}. Messages that it does not take are ` +
          'retried or, if it refused them for good, kept as failed; its owner should check the receiver.',
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
