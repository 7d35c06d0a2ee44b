import { InvalidJobError, UnknownJobFormatError } from '../errors/delivery.errors.js';
import type { CallTrace } from '../shared/telemetry.js';
import { BATCH_JOB_VERSION, type BatchJobData } from './batch-job.js';

/** Why a job cannot be read. The failure reason stored with the job begins with the `code`. */
export type JobProblem = InvalidJobError | UnknownJobFormatError;

/** What is wrong with a part of the data. Paths are only built if something is wrong. */
interface Fault {
  path: string;
  expected: string;
}

type Fields = Record<string, unknown>;

/** The format in which the previous version wrote jobs: no messages shared a body. */
const PREVIOUS_VERSION = 2;

/** The messageId becomes the value of a header. */
const MESSAGE_ID = /^[\x20-\x7e]{1,100}$/;
const OUTCOME_CLASSES = new Set<unknown>(['delivered', 'retry', 'permanent']);

/** Parts that messages of a job share and refer to by an index: see `storedData`. */
interface SharedParts {
  bodies: readonly string[];
  calls: readonly CallTrace[];
}

interface StoredJobData {
  batches: { messages: StoredMessage[] }[];
}

interface StoredMessage {
  body: string | number;
  call?: CallTrace | undefined;
  callIndex?: unknown;
}

/**
 * Reads the data of a job, which anyone with access to the queue may have written. All of it is checked, so
 * that the code that handles batches can rely on their types. Returns the data in the current format, with each
 * body in its place. Unknown keys are kept, but `storedData` may leave out those of messages.
 *
 * Shared parts are put in their places in the given data itself. The data was parsed for this caller alone, and
 * copies of all messages would cost as much as the rest. Invalid data stays as it is.
 */
export function readJob(data: unknown): BatchJobData | JobProblem {
  if (!isObject(data)) return problem({ path: '', expected: 'an object' });
  const { v } = data;
  if (typeof v !== 'number') return problem({ path: '.v', expected: 'a number' });
  if (v === PREVIOUS_VERSION) return readJob(fromPreviousVersion(data));
  if (v !== BATCH_JOB_VERSION) return new UnknownJobFormatError(v);
  const { bodies = [], calls = [], ...read } = data;
  if (!isTexts(bodies)) return problem({ path: '.bodies', expected: 'a list of strings' });
  if (!isCalls(calls)) return problem({ path: '.calls', expected: 'a list of `{ at, traceparent }`' });
  const fault = faultOfBatches(read.batches, bodies.length);
  if (fault !== undefined) return problem(fault);
  putInPlace(read as unknown as StoredJobData, { bodies, calls });
  return read as unknown as BatchJobData;
}

function fromPreviousVersion(data: Fields): Fields {
  return { ...data, v: BATCH_JOB_VERSION };
}

function putInPlace({ batches }: StoredJobData, { bodies, calls }: SharedParts): void {
  for (const { messages } of batches) {
    for (const message of messages) {
      const { body, callIndex } = message;
      if (typeof body === 'number') message.body = bodies[body] ?? '';
      // An older version may have moved a message to a job of its own, without the list.
      if (callIndex !== undefined) {
        message.call = calls[Number(callIndex)];
        message.callIndex = undefined;
      }
    }
  }
}

function problem({ path, expected }: Fault): InvalidJobError {
  return new InvalidJobError(`data${path}`, expected);
}

/** @param bodies number of bodies that messages share */
function faultOfBatches(batches: unknown, bodies: number): Fault | undefined {
  if (!Array.isArray(batches) || batches.length === 0) {
    return { path: '.batches', expected: 'a list of at least one batch' };
  }
  return faultOfList('.batches', batches, (batch) => faultOfBatch(batch, bodies));
}

function faultOfBatch(batch: Fields, bodies: number): Fault | undefined {
  const { destination, source, marks, messages, firstAttemptAt, notBefore } = batch;
  if (typeof destination !== 'string') return { path: '.destination', expected: 'a string' };
  if (typeof source !== 'string') return { path: '.source', expected: 'a string' };
  if (!isOptional(marks, isTexts)) return { path: '.marks', expected: 'a list of strings' };
  if (!isOptional(firstAttemptAt, isCount)) return { path: '.firstAttemptAt', expected: 'a time' };
  if (!isOptional(notBefore, isCount)) return { path: '.notBefore', expected: 'a time' };
  if (!Array.isArray(messages) || messages.length === 0) {
    return { path: '.messages', expected: 'a list of at least one message' };
  }
  return faultOfList('.messages', messages, (message) => faultOfMessage(message, bodies));
}

function faultOfMessage(message: Fields, bodies: number): Fault | undefined {
  const { id, body, outcomes, failedAt, replay, tenant, call } = message;
  if (typeof id !== 'string' || !MESSAGE_ID.test(id)) {
    return { path: '.id', expected: '1 to 100 printable ASCII characters' };
  }
  if (!isString(body) && !isIndex(body, bodies)) return { path: '.body', expected: 'a string' };
  if (!isOptional(failedAt, isCount)) return { path: '.failedAt', expected: 'a time' };
  if (!isOptional(replay, isString)) return { path: '.replay', expected: 'a string' };
  if (!isOptional(tenant, isString)) return { path: '.tenant', expected: 'a string' };
  if (!isOptional(call, isCallTrace)) return { path: '.call', expected: '{ at, traceparent }' };
  if (!Array.isArray(outcomes)) return { path: '.outcomes', expected: 'a list' };
  return faultOfList('.outcomes', outcomes, faultOfOutcome);
}

function faultOfOutcome(outcome: Fields): Fault | undefined {
  const { url, class: outcomeClass, status, error, excerpt, attempt, at, duration } = outcome;
  if (typeof url !== 'string') return { path: '.url', expected: 'a string' };
  if (!OUTCOME_CLASSES.has(outcomeClass)) {
    return { path: '.class', expected: 'delivered, retry or permanent' };
  }
  if (!isOptional(status, isCount)) return { path: '.status', expected: 'a number' };
  if (!isOptional(error, isString)) return { path: '.error', expected: 'a string' };
  if (!isOptional(excerpt, isString)) return { path: '.excerpt', expected: 'a string' };
  if (!isCount(attempt)) return { path: '.attempt', expected: 'a number' };
  if (!isCount(at)) return { path: '.at', expected: 'a time' };
  return isCount(duration) ? undefined : { path: '.duration', expected: 'a number' };
}

function faultOfList(
  path: string,
  items: readonly unknown[],
  faultOfItem: (item: Fields) => Fault | undefined,
): Fault | undefined {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const fault = isObject(item) ? faultOfItem(item) : { path: '', expected: 'an object' };
    if (fault !== undefined) return { ...fault, path: `${path}[${index}]${fault.path}` };
  }
  return undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isString);
}

function isIndex(value: unknown, length: number): boolean {
  return Number.isInteger(value) && isCount(value) && Number(value) < length;
}

function isCalls(value: unknown): value is CallTrace[] {
  return Array.isArray(value) && value.every(isCallTrace);
}

function isCallTrace(value: unknown): boolean {
  return isObject(value) && isCount(value.at) && isOptional(value.traceparent, isString);
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

/** A finite, non-negative number. A time is one, in milliseconds since the epoch. */
function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
