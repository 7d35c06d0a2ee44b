import { createHash, type Hash } from 'node:crypto';
import { batchBytes, MAX_BATCH_BYTES } from '../messages/serialize.js';
import type { NewBatch, NewJob, NewMessage } from '../queue/batch-job.js';
import { jobIdOf } from '../queue/job-id.js';
import type { RowConnection } from './row-connections.js';

/** Maximum number of messages in a job, the same as for other jobs. */
const MAX_MESSAGES = 200;
/** Length of the hash in a job's id: 128 bits in hex. A letter precedes the hash, since BullMQ refuses integers. */
const ID_LENGTH = 32;

/** A row that can be moved. */
export interface Move {
  /** Id of the row. */
  row: number;
  /** Time at which the row was due, as text. Rows that were claimed together before have the same time. */
  due: string;
  messageId: string;
  /** JSON text of the body. */
  json: string;
  /** Bytes of `json` in UTF-8. */
  bytes: number;
  /** Tenant of the event; `undefined` if it belongs to none. */
  tenant: string | undefined;
  /** At least one. */
  connections: readonly RowConnection[];
}

/** A job, and the ids of the rows that are in it. No row is in two jobs. */
export interface RowsJob {
  job: NewJob;
  rows: readonly number[];
}

/**
 * Makes jobs of rows, each only when it is asked for, since hashing a job takes a millisecond or more. The id of a job
 * follows from its rows, their messages and their destinations. Adding the same rows again is therefore harmless as long
 * as the queue remembers its jobs, and other rows never get the same id.
 */
export function* jobsOf(moves: readonly Move[]): Generator<RowsJob, void> {
  let job: OutboxJob | undefined;
  let due: string | undefined;
  for (const move of moves) {
    if (job !== undefined && (!job.fits(move) || move.due !== due)) {
      yield job.finish();
      job = undefined;
    }
    job ??= new OutboxJob();
    job.add(move);
    ({ due } = move);
  }
  if (job !== undefined) yield job.finish();
}

class OutboxJob {
  /** Batches by source, destination and marks. */
  private readonly batches = new Map<string, NewBatch & { messages: NewMessage[] }>();
  private readonly hash: Hash = createHash('sha256');
  private readonly rows: number[] = [];
  private failedRetention = 0;
  private count = 0;
  private bytes = 0;

  fits({ bytes, connections }: Move): boolean {
    const count = this.count + connections.length;
    return (
      count <= MAX_MESSAGES && batchBytes(this.bytes + bytes * connections.length, count) <= MAX_BATCH_BYTES
    );
  }

  add({ row, messageId, json, bytes, tenant, connections }: Move): void {
    this.rows.push(row);
    this.hash.update(`${row} ${messageId} ${json}\n`);
    for (const { source, destination, marks, failedRetention } of connections) {
      const key = JSON.stringify([source, destination, ...(marks ?? [])]);
      this.hash.update(`${key}\n`);
      const message = { id: messageId, body: json, tenant };
      const batch = this.batches.get(key);
      if (batch === undefined) this.batches.set(key, { source, destination, marks, messages: [message] });
      else batch.messages.push(message);
      this.failedRetention = Math.max(this.failedRetention, failedRetention);
    }
    this.count += connections.length;
    this.bytes += bytes * connections.length;
  }

  finish(): RowsJob {
    const batches = [...this.batches.values()];
    const destinations = new Set(batches.map(({ destination }) => destination));
    const jobId = `o${this.hash.digest('hex').slice(0, ID_LENGTH)}`;
    const { rows, failedRetention } = this;
    return { job: { jobId: jobIdOf(destinations, jobId), batches, failedRetention }, rows };
  }
}
