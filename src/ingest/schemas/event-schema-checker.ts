import type { Logger } from '@nestjs/common';
import type { Refusal } from '../../client/admission.js';
import { EventViolationError } from '../../errors/message.errors.js';
import { beginningOf } from '../../shared/beginning-of.js';
import { thrownAt } from '../../shared/thrown-at.js';
import type { AnalyticsMessage, JsonObject, TrackMessage } from '../../messages/message.types.js';
import { stringify } from '../../messages/serialize.js';
import type { OnViolation, StandardSchema } from '../../options/standard-schema.types.js';
import { PropertiesCopy } from './properties-copy.js';

/** Largest number of fields in an error message: a batch from outside may have thousands of wrong ones. */
const MAX_PATHS = 10;
const MAX_PATH_LENGTH = 100;

/** What is wrong with an event. */
interface Violation {
  /** Text for the sender of the event. */
  text: string;
  /** What the schema threw, and where. For the log only: the sender may be a stranger. */
  thrown?: string;
}

export interface EventSchemaCheckerOptions {
  /** Schemas by the name of the event. */
  events: Readonly<Record<string, StandardSchema>>;
  onViolation: OnViolation;
}

/** Checks the properties of events. The value that a schema returns is ignored and never sent. */
export class EventSchemaChecker {
  private readonly schemas: ReadonlyMap<string, StandardSchema>;
  private readonly onViolation: OnViolation;
  /** Text of the first violation of each event, for the log. Later violations are mostly alike. */
  private readonly first = new Map<string, string>();

  constructor(
    { events, onViolation }: EventSchemaCheckerOptions,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.schemas = new Map(Object.entries(events));
    this.onViolation = onViolation;
  }

  /**
   * Returns why a message is dropped, or `undefined`. All events of a name get the same text for the log: senders
   * decide which fields they get wrong, and each different text has a line of its own.
   *
   * @throws InvalidMessageError for properties that cannot be copied; EventViolationError if `onViolation` is 'throw'
   */
  readonly refusal = (message: AnalyticsMessage): Refusal | undefined => {
    if (message.type !== 'track') return undefined;
    const { event } = message;
    const schema = this.schemas.get(event);
    const violation = schema && violationOf(schema, message);
    if (violation === undefined) return undefined;
    const error = new EventViolationError(event, violation.text);
    const logged =
      violation.thrown === undefined ? error.message : `${error.message} (it threw ${violation.thrown})`;
    if (this.onViolation === 'throw') {
      if (violation.thrown !== undefined && this.isFirst(event, logged)) this.logger.warn(`${logged}.`);
      throw error;
    }
    const isFirst = this.isFirst(event, logged);
    if (this.onViolation === 'drop')
      return { kind: 'schema', reason: error.message, logged: this.first.get(event) };
    if (isFirst) this.logger.warn(`${logged}. It is sent anyway, because \`onViolation\` is 'warn'.`);
    return undefined;
  };

  private isFirst(event: string, logged: string): boolean {
    if (this.first.has(event)) return false;
    this.first.set(event, logged);
    return true;
  }
}

/**
 * Returns what is wrong with an event: the fields that do not fit, never their values, which schemas quote in their
 * messages. A schema that cannot give an answer counts as a violation, whatever code of the application it runs.
 *
 * @throws InvalidMessageError for properties that cannot be copied
 */
function violationOf(schema: StandardSchema, message: TrackMessage): Violation | undefined {
  const copy = new PropertiesCopy(message.properties);
  const before = copy.sharesObjects ? jsonOf(message.properties) : undefined;
  try {
    const text = problemIn(schema['~standard'].validate(copy.properties));
    return text === undefined ? undefined : { text };
  } catch (error) {
    return { text: 'the schema could not check it', thrown: thrownAt(error) };
  } finally {
    if (before !== undefined && jsonOf(message.properties) !== before) {
      message.properties = JSON.parse(before) as JsonObject;
    }
  }
}

/** Returns the properties as they are sent; `undefined` if JSON cannot hold them, which refuses the message later. */
function jsonOf(properties: JsonObject): string | undefined {
  try {
    return stringify(properties);
  } catch {
    return undefined;
  }
}

function problemIn(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null) return 'the schema returned no result';
  if ('then' in result) {
    // An unhandled rejection would end the process.
    Promise.resolve(result).catch(() => undefined);
    return 'the schema is asynchronous for these properties, and only synchronous ones can be checked';
  }
  const issues: unknown = Reflect.get(result, 'issues');
  if (issues === undefined) return undefined;
  const paths = [...new Set(listOf(issues).map(pathOf))];
  const named = paths.slice(0, MAX_PATHS).join(', ');
  return paths.length > MAX_PATHS ? `${named} and ${paths.length - MAX_PATHS} more` : named;
}

function pathOf(issue: unknown): string {
  const path = listOf(typeof issue === 'object' && issue !== null ? Reflect.get(issue, 'path') : undefined);
  const keys = path.map((segment) =>
    String(typeof segment === 'object' && segment !== null ? Reflect.get(segment, 'key') : segment),
  );
  // Keys may come from outside, and this text goes to the log.
  const text = ['properties', ...keys].join('.').replace(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');
  return `\`${text.length > MAX_PATH_LENGTH ? `${beginningOf(text, MAX_PATH_LENGTH)}…` : text}\``;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
