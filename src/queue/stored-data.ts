import { isStorable, storable } from '../shared/excerpt.js';
import type { CallTrace } from '../shared/telemetry.js';
import { withShortExcerpts } from './short-excerpts.js';
import {
  type BatchJobData,
  type BatchMessage,
  type QueuedBatch,
  UNSHARED_BODIES_VERSION,
  type UrlOutcome,
} from './batch-job.js';

/** Parts that messages of a job share, each with its index in a list. `undefined` if no two messages share one. */
interface SharedParts {
  bodies: ReadonlyMap<string, number> | undefined;
  calls: ReadonlyMap<CallTrace, number> | undefined;
}

/** A message as it is stored if messages of its job share parts. */
interface StoredMessage extends Omit<BatchMessage, 'body'> {
  body: string | number | undefined;
  callIndex?: number | undefined;
}

/**
 * Returns the data of a job as it is stored. If messages share bodies, each body is stored once, in a list, and the
 * messages refer to it by its index: a message to a hundred destinations would otherwise be stored a hundred times.
 * The same goes for the traces of their calls. `readJob` puts both in their places again. Jobs whose messages share no
 * body keep the format that the previous version reads too, although it drops the traces.
 */
export function storedData(given: BatchJobData): BatchJobData {
  const data = { ...given, batches: withShortExcerpts(given.batches.map(withStorableOutcomes)) };
  const shared = { bodies: sharedBodies(data.batches), calls: sharedCalls(data.batches) };
  const { bodies, calls } = shared;
  const v = bodies === undefined ? UNSHARED_BODIES_VERSION : data.v;
  if (bodies === undefined && calls === undefined) return { ...data, v };
  const batches = data.batches.map((batch) => ({
    ...batch,
    messages: batch.messages.map((message) => storedMessage(message, shared)),
  }));
  // BullMQ has one type for the data of its jobs. All code that reads a job has to use `readJob`.
  return {
    ...data,
    v,
    ...(bodies !== undefined && { bodies: [...bodies.keys()] }),
    ...(calls !== undefined && { calls: [...calls.keys()] }),
    batches,
  } as unknown as BatchJobData;
}

/**
 * Copies a message field by field: a spread with other fields after it takes a microsecond for each message. A new
 * field has to be added here.
 */
function storedMessage(message: BatchMessage, { bodies, calls }: SharedParts): StoredMessage {
  const { id, body, outcomes, failedAt, replay, tenant, call } = message;
  const stored: StoredMessage = { id, body: bodies === undefined ? body : bodies.get(body), outcomes };
  if (failedAt !== undefined) stored.failedAt = failedAt;
  if (replay !== undefined) stored.replay = replay;
  if (tenant !== undefined) stored.tenant = tenant;
  if (call === undefined) return stored;
  if (calls === undefined) stored.call = call;
  else stored.callIndex = calls.get(call);
  return stored;
}

/** Returns the number of characters in a job from `readJob`: of its bodies, each counted once, and of its excerpts. */
export function sizeOfJob({ batches }: BatchJobData): number {
  const bodies = batches.length > 1 ? new Map<string, string>() : undefined;
  let size = 0;
  for (const { messages } of batches) {
    for (const { id, body, outcomes } of messages) {
      // Messages that share a body share their id. To compare a text with itself costs nothing.
      if (bodies?.get(id) !== body) size += body.length;
      bodies?.set(id, body);
      for (const { excerpt } of outcomes) size += excerpt?.length ?? 0;
    }
  }
  return size;
}

/** Returns the index of each body, or `undefined` if no two messages share a body. */
function sharedBodies(batches: readonly QueuedBatch[]): Map<string, number> | undefined {
  if (batches.length < 2 || !haveIdInCommon(batches)) return undefined;
  const bodies = new Map<string, number>();
  let messages = 0;
  for (const batch of batches) {
    messages += batch.messages.length;
    for (const { body } of batch.messages) if (!bodies.has(body)) bodies.set(body, bodies.size);
  }
  return bodies.size < messages ? bodies : undefined;
}

/** Returns the index of each trace. Messages of one call, or of calls made at once, have the same trace object. */
function sharedCalls(batches: readonly QueuedBatch[]): Map<CallTrace, number> | undefined {
  const calls = new Map<CallTrace, number>();
  let messages = 0;
  let latest: CallTrace | undefined;
  for (const batch of batches) {
    for (const { call } of batch.messages) {
      if (call === undefined) continue;
      messages++;
      if (call !== latest && !calls.has(call)) calls.set(call, calls.size);
      latest = call;
    }
  }
  return calls.size < messages ? calls : undefined;
}

/**
 * Whether two messages have the same id. Otherwise no bodies are compared: nearly every body contains the id of its
 * message, ids are short, and to compare all bodies costs ten times as much.
 */
function haveIdInCommon(batches: readonly QueuedBatch[]): boolean {
  const ids = new Set<string>();
  for (const { messages } of batches) {
    for (const { id } of messages) {
      if (ids.has(id)) return true;
      ids.add(id);
    }
  }
  return false;
}

/**
 * Replaces characters in outcomes that PostgreSQL refuses. Outcomes are all that is added to a job, and PostgreSQL
 * would refuse the whole job for such a character. The job's deliveries could not be recorded, and would be repeated
 * again and again.
 */
function withStorableOutcomes(batch: QueuedBatch): QueuedBatch {
  if (batch.messages.every(hasStorableOutcomes)) return batch;
  const messages = batch.messages.map((message) => ({
    ...message,
    outcomes: message.outcomes.map(storableOutcome),
  }));
  return { ...batch, messages };
}

function hasStorableOutcomes({ outcomes }: BatchMessage): boolean {
  return outcomes.every(({ url, error = '', excerpt = '' }) => [url, error, excerpt].every(isStorable));
}

function storableOutcome(outcome: UrlOutcome): UrlOutcome {
  const { url, error, excerpt } = outcome;
  return {
    ...outcome,
    url: storable(url),
    ...(error !== undefined && { error: storable(error) }),
    ...(excerpt !== undefined && { excerpt: storable(excerpt) }),
  };
}
