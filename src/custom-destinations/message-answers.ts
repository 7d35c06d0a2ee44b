import type { OutcomeClass, UrlOutcome } from '../queue/batch-job.js';
import { excerptOf } from '../shared/excerpt.js';
import type { CallEnd } from './delivery-call.js';

/** The application's answer about one message. */
export type MessageAnswer = Pick<UrlOutcome, 'class' | 'error' | 'excerpt'>;

/** Code for an error that has no code of its own. */
const DELIVERY_ERROR = 'DELIVERY_ERROR';
/** Code of `PermanentDeliveryError`. Its class proves nothing, since this package may be loaded twice. */
const PERMANENT = 'PERMANENT_DELIVERY';
/** Code for an invalid return value of `deliver`. */
const INVALID_RESULT = 'INVALID_DELIVERY_RESULT';

const CODE = /^[\x21-\x7e]{1,100}$/;

const DELIVERED: MessageAnswer = { class: 'delivered' };

/**
 * Returns what the end of a call means for each of its messages, in their order. If the call returned something
 * invalid, all messages are retried: a message that comes twice does less harm than a lost one.
 *
 * @param ids the messageIds
 */
export function answersOf(
  end: Exclude<CallEnd, { kind: 'brokenOff' }>,
  ids: readonly string[],
): MessageAnswer[] {
  if (end.kind === 'timedOut') return ids.map(() => ({ class: 'retry', error: 'TIMEOUT' }));
  if (end.kind === 'threw') {
    const answer = failure(end.error, undefined);
    return ids.map(() => answer);
  }
  if (end.value === undefined) return ids.map(() => DELIVERED);
  const failures = readFailures(end.value, new Set(ids));
  if (typeof failures === 'string') {
    return ids.map(() => ({ class: 'retry', error: INVALID_RESULT, excerpt: failures }));
  }
  return ids.map((id) => failures.get(id) ?? DELIVERED);
}

function readFailures(results: unknown, ids: ReadonlySet<string>): Map<string, MessageAnswer> | string {
  try {
    return failuresIn(results, ids);
  } catch {
    return 'Expected a readable array';
  }
}

/** Returns the messages that were not delivered, or a text that says what is wrong with the list. */
function failuresIn(results: unknown, ids: ReadonlySet<string>): Map<string, MessageAnswer> | string {
  if (!Array.isArray(results)) return 'Expected nothing or an array of `{ messageId, error }`';
  const failures = new Map<string, MessageAnswer>();
  for (const [index, result] of results.entries()) {
    const fields: Record<string, unknown> = isObject(result) ? result : {};
    const { messageId, error, permanent } = fields;
    if (typeof messageId !== 'string' || !ids.has(messageId)) {
      return `Expected \`[${index}].messageId\` to be the id of a message in this call`;
    }
    if (permanent !== undefined && typeof permanent !== 'boolean') {
      return `Expected \`[${index}].permanent\` to be a boolean`;
    }
    const isFailed = (error !== undefined && error !== null) || permanent === true;
    if (isFailed) failures.set(messageId, failure(error, permanent));
  }
  return failures;
}

function failure(error: unknown, permanent: boolean | undefined): MessageAnswer {
  const { code, message } = partsOf(error);
  const resultClass: OutcomeClass = (permanent ?? code === PERMANENT) ? 'permanent' : 'retry';
  const excerpt = excerptOf(message);
  return { class: resultClass, error: code ?? DELIVERY_ERROR, ...(excerpt !== '' && { excerpt }) };
}

/** Reads a thrown value. Anything can be thrown, even a value that throws when it is read. */
function partsOf(error: unknown): { code: string | undefined; message: string } {
  if (typeof error === 'string') return { code: undefined, message: error };
  if (!isObject(error)) return { code: undefined, message: '' };
  try {
    const { code, message } = error;
    const text = typeof code === 'number' ? String(code) : code;
    return {
      code: typeof text === 'string' && CODE.test(text) ? text : undefined,
      message: typeof message === 'string' ? message : '',
    };
  } catch {
    return { code: undefined, message: '' };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
