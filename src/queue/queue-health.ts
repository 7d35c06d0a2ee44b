import { ConnectionClosedError } from 'bullmq';
import { countOf } from '../shared/count-of.js';
import { Aftermath } from './aftermath.js';
import { LimitedLog, type QueueLog } from './limited-log.js';
import {
  type FailureKind,
  failureOf,
  hidesFromProbes,
  quietAfter,
  type QueueFailure,
  unknownFailure,
} from './queue-failure.js';
import { UnusableTables } from './unusable-tables.js';

/** The kind of queue that has no server to check. */
export const EMBEDDED = 'the embedded database';

/** How long the same report of BullMQ is not repeated, in milliseconds. */
const REPORT_INTERVAL = 60_000;

const HEADLINES: Record<OutageKind, string> = {
  unreachable: 'cannot be reached',
  silent: 'does not answer',
  refusing: 'takes no more jobs',
  broken: 'has crashed',
};

const UNTIL_RESTART = 'nothing is delivered until the process is restarted.';

type OutageKind = Exclude<FailureKind, 'partial'>;

interface Outage extends QueueFailure {
  kind: OutageKind;
  /** By the monotonic clock. */
  since: number;
  isTold: boolean;
}

/**
 * Knows whether the queue can be used. A queue cannot be used before it was first reached. Writes one line when an
 * outage begins and one line when it ends: while a queue is down, every command fails, and one line says as much as
 * thousands. If a server goes away many times a minute, one line gives the count instead.
 */
export class QueueHealth {
  private outage: Outage | undefined;
  /** Whether the queue was ever reached. A server may keep a start waiting without a failure, for example by a lock. */
  private wasReached = false;
  /** When the server last refused to store something in this outage, by statement. Reads still work meanwhile. */
  private readonly refused = new Map<string | undefined, number>();
  /** In outages that probes may miss: when a probe was last stored, and when another write was last refused. */
  private probedAt = -Infinity;
  private refusedAt = -Infinity;
  private isProbeMisleading = false;
  private backSince = -Infinity;
  /** Outages since the last line. */
  private untold = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  private readonly lines: LimitedLog;
  readonly tables: UnusableTables;
  private readonly aftermath: Aftermath;
  private readonly toldAt = new Map<string, number>();
  private countPending = (): number => 0;

  constructor(
    /** The kind of queue, without anything secret: `Redis`, `PostgreSQL`. */
    private readonly place: string,
    logger: QueueLog,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.lines = new LimitedLog(logger, now);
    this.tables = new UnusableTables(place, logger, this.lines, now);
    this.aftermath = new Aftermath(now);
  }

  get isUp(): boolean {
    return this.wasReached && this.outage === undefined;
  }

  /** Whether the server can be reached but stores nothing. */
  get isRefusing(): boolean {
    return this.outage?.kind === 'refusing';
  }

  /** @param count returns how many calls are in memory now, for the line about an outage */
  countPendingBy(count: () => number): void {
    this.countPending = count;
  }

  /** Notes that the queue cannot be used. Only the first reason of an outage is logged, but a crash always is. */
  down(error: unknown): void {
    if (this.isBroken || this.isClosed) return;
    const { kind, ...why } = failureOf(error) ?? unknownFailure(error);
    if (kind === 'partial') return;
    if (this.outage !== undefined && kind !== 'broken') return;
    this.outage = { kind, ...why, since: this.now(), isTold: false };
    this.isProbeMisleading = this.now() - this.probedAt < quietAfter(this.outage);
    this.untold++;
    this.tell();
  }

  /**
   * Notes that a statement failed because the queue cannot be used.
   *
   * @param askedAt when the statement was sent, by the monotonic clock. A statement that was lost with the
   *   connections of an outage does not begin another outage.
   */
  failed(error: unknown, statement?: string, askedAt = Infinity): void {
    if (!this.isClosed) this.tables.failed(error, statement);
    if (askedAt > this.backSince) this.down(error);
    const failure = failureOf(error);
    if (!this.isRefusing || failure?.kind !== 'refusing') return;
    this.refused.set(statement, this.now());
    if (hidesFromProbes(failure)) this.refusedAt = this.now();
  }

  /** Notes that the answer to a statement was lost with its connection, although the server can be reached. */
  answerLost(): void {
    this.aftermath.answerLost();
  }

  /**
   * Handles an error that BullMQ or a driver reports. A refusal to store is an outage. What is known, or follows from
   * an outage or a lost answer, is not logged; any other error is, once a minute. Returns whether a line was written.
   */
  report(error: Error): boolean {
    const failure = failureOf(error);
    if (failure !== undefined) {
      // The pool has already reported the refusal in a `ConnectionClosedError`, perhaps before the queue was back.
      if (failure.kind === 'refusing' && !(error instanceof ConnectionClosedError)) this.down(error);
      return false;
    }
    if (this.aftermath.explains(error.message, this.outage !== undefined)) return false;
    for (const [text, at] of this.toldAt) if (this.now() - at >= REPORT_INTERVAL) this.toldAt.delete(text);
    const kind = error.message.replace(/\bjob \S+/gi, 'job');
    // Room is reserved for the line about the end of an outage.
    const isFull = !this.lines.hasRoomFor(this.outage?.isTold === true ? 2 : 1);
    if (this.isClosed || isFull || this.toldAt.has(kind)) return false;
    this.toldAt.set(kind, this.now());
    this.lines.warn(`The queue on ${this.place} reports: ${error.message}`);
    return true;
  }

  /**
   * Notes that the server answered. An answer alone does not end a refusal to store.
   *
   * @param askedAt when the answered command was sent, by the monotonic clock. An answer that was on its way
   *   when the queue went down does not mean that the queue is back.
   */
  up(askedAt = Infinity): void {
    this.wasReached = true;
    if (this.outage !== undefined && askedAt > this.outage.since && !this.isRefusing) this.end(this.outage);
  }

  /**
   * Notes that a statement was answered. All refused statements have to succeed before the queue counts as back. An
   * answer to a statement that was sent before its last refusal proves nothing.
   */
  answered(askedAt: number, statement: string | undefined): void {
    if (!this.isClosed) this.tables.answered(askedAt, statement);
    if (!this.isRefusing) {
      this.up(askedAt);
    } else if (askedAt >= (this.refused.get(statement) ?? Infinity)) {
      this.refused.delete(statement);
      if (this.refused.size === 0) this.stored();
    }
  }

  /**
   * Notes that the server stored a probe. A probe is smaller than a job, and fits on a disk that is almost full. If jobs
   * were refused again right after a probe, the outage ends when they are stored, or when nothing was refused for a
   * while. A probe that was sent before the outage began proves nothing.
   */
  probed(askedAt = Infinity): void {
    if (this.outage !== undefined && askedAt < this.outage.since) return;
    if (this.isProbeMisleading && this.now() - this.refusedAt < quietAfter(this.outage)) return;
    if (this.outage !== undefined && hidesFromProbes(this.outage)) this.probedAt = this.now();
    this.stored();
  }

  /** Notes that the server stored something. @param askedAt when it was asked: before the outage, this proves nothing */
  stored(askedAt = Infinity): void {
    this.wasReached = true;
    if (this.outage !== undefined && askedAt >= this.outage.since) this.end(this.outage);
  }

  /** Writes nothing after this. */
  close(): void {
    this.isClosed = true;
    this.tables.close();
    clearTimeout(this.timer);
  }

  /** Whether the database has crashed for good. Its pool still hands out connections, which count as answers. */
  private get isBroken(): boolean {
    return this.outage?.kind === 'broken';
  }

  private end({ since, isTold }: Outage): void {
    if (this.isBroken) return;
    this.outage = undefined;
    this.refused.clear();
    this.backSince = this.now();
    this.aftermath.outageEnded();
    if (this.isProbeMisleading) this.probedAt = this.backSince;
    if (!isTold || this.isClosed) return;
    const seconds = Math.round((this.now() - since) / 1000);
    this.lines.log(`The queue on ${this.place} is back after ${seconds} s.`);
  }

  /**
   * Writes the line that is due. If the limit leaves no room for it and for the line that will end the
   * outage, waits.
   */
  private tell(): void {
    const wait = this.lines.waitFor(2);
    if (wait > 0) {
      this.timer ??= setTimeout(this.catchUp, wait).unref();
    } else if (this.outage !== undefined) {
      const before =
        this.untold > 1
          ? ` It went away ${countOf(this.untold - 1, 'more time')} since the last log line.`
          : '';
      this.outage.isTold = true;
      this.untold = 0;
      this.lines.warn(this.sentenceOf(this.outage) + before);
    } else {
      this.lines.warn(
        `The queue on ${this.place} went away ${countOf(this.untold, 'more time')} since the last log line, and is ` +
          'back. Check the network between it and this process.',
      );
      this.untold = 0;
    }
  }

  private readonly catchUp = (): void => {
    this.timer = undefined;
    if (this.untold > 0) this.tell();
  };

  private sentenceOf({ kind, reason, remedy = '' }: Outage): string {
    const state =
      `The queue on ${this.place} ${HEADLINES[kind]} (${reason}). Calls are kept in memory, ` +
      `${this.countPending()} so far, up to \`maxBufferedBytes\`, and `;
    if (kind === 'broken') return `${state}${UNTIL_RESTART} ${remedy}`;
    const server = this.place === EMBEDDED ? 'its folder and the disk' : 'the server';
    const place = kind === 'unreachable' ? `\`connection\` and ${server}` : server;
    return `${state}delivery resumes by itself when it is back. Check ${place}.`;
  }
}
