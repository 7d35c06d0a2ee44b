import debugFactory from 'debug';
import type { AnalyticsClient } from '../client/analytics-client.js';
import type { JobSink } from '../client/sender.js';
import { MAX_BATCH_BYTES } from '../messages/serialize.js';
import type { BacklogCounter } from '../queue/backlog-counter.js';
import type { NewJob } from '../queue/batch-job.js';
import type { QueueHealth } from '../queue/queue-health.js';
import { within } from '../shared/within.js';
import { Alarm } from './alarm.js';
import { RemovalError } from './database-error.js';
import { DueRows } from './due-rows.js';
import { jobsOf } from './outbox-jobs.js';
import type { OutboxLog } from './outbox-log.js';
import { CLAIM, type ClaimLimit, type OutboxRow, type OutboxStore, RENEWAL } from './outbox-store.js';
import type { RowDecision, RowReader } from './row-reader.js';
import { RowSettlement } from './row-settlement.js';
import { RowsInQueue } from './rows-in-queue.js';
import { WaitingRows } from './waiting-rows.js';

const debug = debugFactory('analytics');

/** Limits of the rows moved together. Their JSON is kept until it is in the queue: 500 rows alone could take 16 MB. */
const LIMIT: ClaimLimit = { rows: 500, bytes: 4 * MAX_BATCH_BYTES };
/** Time between two looks at the table when no notification arrives, in milliseconds. */
const POLL = 2_000;
/** Minimum time between the starts of two looks, in milliseconds. Rows committed in between are moved together. */
const INTERVAL = 10;
const FIRST_RETRY_DELAY = 100;
const MAX_RETRY_DELAY = 5_000;
/** Share of the closing time that is reserved for giving rows back. */
const GIVE_BACK_SHARE = 0.2;
/** Maximum time that is reserved for giving rows back, in milliseconds. */
const MAX_GIVE_BACK = 1_000;

export interface OutboxRelayParts {
  store: OutboxStore;
  reader: RowReader;
  queue: JobSink;
  health: Pick<QueueHealth, 'isUp' | 'isRefusing' | 'report'>;
  client: Pick<AnalyticsClient, 'live' | 'deletions'>;
  backlogs: Pick<BacklogCounter, 'admitted' | 'start' | 'roomFor'>;
  log: OutboxLog;
}

/**
 * Moves the rows of the outbox to the queue. A separate statement claims the rows, so that no transaction is
 * open while they are added to the queue. Once they are there, they are deleted. If a process dies in between,
 * its rows are moved again, as the same jobs.
 */
export class OutboxRelay {
  private readonly alarm = new Alarm();
  /** Ends a pause between two attempts. */
  private readonly closing = new Alarm();
  /** Stops waiting for a job that is being added. */
  private abandon: () => void = () => undefined;
  private work: Promise<void> | undefined;
  private unlisten: (() => Promise<void>) | undefined;
  private isStopped = false;
  private isGivenUp = false;
  private readonly dueRows: DueRows;
  private readonly settlement: RowSettlement;
  private readonly rowsInQueue: RowsInQueue;
  private readonly waitingRows: WaitingRows;

  constructor(private readonly parts: OutboxRelayParts) {
    this.dueRows = new DueRows(parts.store);
    this.settlement = new RowSettlement(parts);
    this.rowsInQueue = new RowsInQueue(parts.store, parts.log);
    this.waitingRows = new WaitingRows(parts.store, parts.backlogs);
  }

  start(): void {
    this.work ??= this.run();
  }

  /** Stops claiming rows. Rows that are already claimed are still moved. */
  stop(): void {
    this.isStopped = true;
    this.alarm.ring();
    this.closing.ring();
  }

  /** Ends the current work within `patience` milliseconds, or gives its rows back. */
  async close(patience: number): Promise<void> {
    this.stop();
    const { work } = this;
    if (work === undefined) return;
    const giveBack = Math.min(patience * GIVE_BACK_SHARE, MAX_GIVE_BACK);
    await within(patience - giveBack, work);
    this.isGivenUp = true;
    this.abandon();
    // The application may have closed its database already. Then nothing listens any more.
    const unlistened = this.unlisten?.().catch(() => undefined);
    await within(giveBack, Promise.all([work, unlistened]));
  }

  private async run(): Promise<void> {
    let delay = FIRST_RETRY_DELAY;
    while (!this.isStopped) {
      const startedAt = performance.now();
      let pause: number;
      let { alarm } = this;
      try {
        this.unlisten ??= await this.open();
        pause = await this.look();
        this.parts.log.up();
        delay = FIRST_RETRY_DELAY;
      } catch (error) {
        this.failed(error);
        // A notification about new rows does not help to delete other rows, so it does not end this pause.
        if (error instanceof RemovalError) alarm = this.closing;
        pause = delay;
        delay = Math.min(2 * delay, MAX_RETRY_DELAY);
      }
      await alarm.wait(pause, INTERVAL - (performance.now() - startedAt));
      await this.rest();
    }
  }

  /** Rests after a look that found nothing. A notification does not end this, but closing does. */
  private async rest(): Promise<void> {
    const milliseconds = Math.min(this.dueRows.rest, POLL);
    if (milliseconds > 0 && !this.isStopped) await this.closing.wait(milliseconds, 0);
  }

  /** Reports a failure, unless work was interrupted because the application closes. */
  private failed(error: unknown): void {
    if (!this.isStopped) this.parts.log.down(error);
  }

  /** Checks the table and starts to listen. At start, the database may be unreachable or have no table yet. */
  private async open(): Promise<() => Promise<void>> {
    await this.parts.store.check();
    return this.parts.store.listen(this.alarm.ring);
  }

  /** Resolves to the milliseconds until the next look: 0 if more rows can probably be moved. */
  private async look(): Promise<number> {
    const { health } = this.parts;
    // Until these rows are deleted, no others are moved: more and more would remain, and all be moved again.
    await this.rowsInQueue.remove();
    // A queue that only refuses jobs has to be tried, to see when it accepts them again.
    if (!health.isUp && !health.isRefusing) return POLL;
    const { rows, isFull } = await this.dueRows.claim(LIMIT);
    await this.move(rows);
    if (this.isStopped) return 0;
    const waiting = await this.waitingRows.claim(LIMIT);
    this.waitingRows.settled(await this.move(waiting));
    return isFull ? 0 : Math.min(this.dueRows.pause, this.waitingRows.pause, POLL);
  }

  private async move(rows: OutboxRow[]): Promise<RowDecision[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const decisions = await this.add(rows).finally(this.renew(ids));
    const decided = new Set(decisions.map(({ row }) => row.id));
    await this.parts.store.postpone(
      ids.filter((id) => !decided.has(id)),
      0,
    );
    await this.settle(decisions);
    return decisions;
  }

  /**
   * Resolves when everything that can be moved is in the queue. If the application closes first, resolves to the
   * decisions for rows already in the queue. All other rows are given back. Rows in the queue must not be: together
   * with newer rows, they would make other jobs, and be delivered twice.
   */
  private async add(rows: OutboxRow[]): Promise<RowDecision[]> {
    const { backlogs, reader } = this.parts;
    // `splice` frees the messages once they are read, since the wait for an unreachable queue may be long.
    const decisions = await this.settlement.begin(await reader.readAll(rows.splice(0)));
    const moves = decisions.flatMap((decision) => ('move' in decision ? [decision.move] : []));
    for (const { connections } of moves) {
      for (const connection of connections) backlogs.admitted(connection);
    }
    // Jobs are added one after the other, since adding half a megabyte occupies the process for a while.
    const queued = new Set<number>();
    for (const { job, rows: inJob } of jobsOf(moves)) {
      if (!(await this.addJob(job))) return decisions.filter(({ row }) => queued.has(row.id));
      for (const id of inJob) queued.add(id);
    }
    return decisions;
  }

  /** Adds a job, with retries. Resolves to whether the job is in the queue; if not, the application is closing. */
  private async addJob(job: NewJob): Promise<boolean> {
    for (let delay = FIRST_RETRY_DELAY; !this.isGivenUp; delay = Math.min(2 * delay, MAX_RETRY_DELAY)) {
      try {
        return await this.addOnce(job);
      } catch (error) {
        if (error instanceof Error) this.parts.health.report(error);
      }
      if (this.isStopped) return false;
      await this.closing.wait(delay, 0);
    }
    return false;
  }

  /** Makes one attempt to add a job. The wait can be abandoned, since an unreachable queue may never answer. */
  private addOnce(job: NewJob): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.abandon = () => {
        resolve(false);
      };
      this.parts.queue.add([job]).then(() => {
        resolve(true);
      }, reject);
    });
  }

  private async settle(decisions: readonly RowDecision[]): Promise<void> {
    const done = this.settlement.tell(decisions);
    this.rowsInQueue.add(done);
    // Rows that stay are postponed even while no rows can be deleted.
    await this.settlement.store(decisions);
    await this.rowsInQueue.remove();
    debug('moved %d rows of the outbox', done.length);
  }

  /** Keeps rows claimed. The returned function ends this, and resolves when no renewal is under way. */
  private renew(ids: readonly number[]): () => Promise<void> {
    let renewal: Promise<void> | undefined;
    const timer = setInterval(() => {
      // If this fails, another process may move the rows as well, as the same jobs.
      renewal = this.parts.store.postpone(ids, CLAIM).catch(() => undefined);
    }, RENEWAL).unref();
    return async () => {
      clearInterval(timer);
      await renewal;
    };
  }
}
