import type { FailedFilter } from '../deliveries/failed-filter.js';
import type { JsonObject } from '../messages/message.types.js';
import { isMessageType, MESSAGE_TYPES } from '../messages/message-builders.js';
import { describe, OptionReader } from '../options/option-reader.js';
import { InvalidRequest } from './api-answer.js';

const MAX_TEXT = 500;
/** Maximum number of message ids in a request. */
export const MAX_MESSAGE_IDS = 1_000;
/** Latest moment of a `Date`, in milliseconds since the epoch. */
const MAX_TIME = 8_640_000_000_000_000;

/** The fields of a filter of failed messages, apart from the destination. */
export const FILTER_FIELDS = [
  'type',
  'messageIds',
  'class',
  'status',
  'error',
  'source',
  'from',
  'to',
] as const satisfies (keyof FailedFilter)[];

/** Reads the fields of a request one by one, and then refuses the request with everything that is wrong. */
export class RequestInput {
  private readonly reader: OptionReader;

  constructor(private readonly given: JsonObject) {
    this.reader = new OptionReader(given, '', []);
  }

  /** @throws {InvalidRequest} if a field that was read is wrong, or a field has another name */
  check(names: readonly string[]): void {
    this.reader.onlyKnows(names);
    if (this.reader.problems.length > 0) throw new InvalidRequest(this.reader.problems);
  }

  text(name: string): string | undefined {
    const value = this.given[name];
    if (value === undefined) return undefined;
    if (
      typeof value === 'string' &&
      value.length <= MAX_TEXT &&
      value.isWellFormed() &&
      !value.includes('\0')
    )
      return value;
    this.reader.report(name, `a string of at most ${MAX_TEXT} characters`, describe(value));
    return undefined;
  }

  integer(name: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
    return this.given[name] === undefined ? undefined : this.reader.number(name, min, { min, max });
  }

  /** Reads a boolean of a query, which is a text there. */
  flag(name: string): boolean | undefined {
    const value = this.given[name];
    if (value !== undefined && value !== 'true' && value !== 'false')
      this.reader.report(name, '`true` or `false`', describe(value));
    return value === undefined ? undefined : value === 'true';
  }

  /** Reads a time, in milliseconds since the epoch. */
  time(name: string): number | undefined {
    return this.integer(name, 0, MAX_TIME);
  }

  /** Reads one id or an array of ids. The array must not be empty, since no id would mean all messages. */
  private messageIds(): Pick<FailedFilter, 'messageIds'> {
    const given = this.given.messageIds;
    if (given === undefined) return {};
    const ids = [given].flat();
    if (ids.length > 0 && ids.length <= MAX_MESSAGE_IDS && ids.every(isId)) return { messageIds: ids };
    this.reader.report(
      'messageIds',
      `the id of a message, or 1 to ${MAX_MESSAGE_IDS} of them`,
      describe(given),
    );
    return {};
  }

  /** Reads the conditions on failed messages. */
  filter(): Omit<FailedFilter, 'destination'> {
    const { given, reader } = this;
    const type = isMessageType(given.type) ? given.type : undefined;
    if (given.type !== undefined && type === undefined)
      reader.report('type', `one of ${MESSAGE_TYPES.join(', ')}`, describe(given.type));
    const outcomeClass = given.class === 'retry' || given.class === 'permanent' ? given.class : undefined;
    if (given.class !== undefined && outcomeClass === undefined)
      reader.report('class', '`retry` or `permanent`', describe(given.class));
    return {
      type,
      ...this.messageIds(),
      class: outcomeClass,
      // Receivers may answer with a status that HTTP does not define.
      status: this.integer('status', 100, 999),
      error: this.text('error'),
      source: this.text('source'),
      from: this.time('from'),
      to: this.time('to'),
    };
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT;
}
