import type { Logger } from '@nestjs/common';
import type { Refusal } from '../../client/admission.js';
import { EventViolationError } from '../../errors/message.errors.js';
import { thrownAt } from '../../errors/thrown-at.js';
import type { AnalyticsMessage, JsonObject, TrackMessage } from '../../messages/message.types.js';
import { stringify } from '../../messages/serialize.js';
import type { OnViolation, StandardSchema } from '../../options/standard-schema.types.js';
import { PropertiesCopy } from './properties-copy.js';

/** Largest number of fields in an error message: a batch from outside may have thousands of wrong ones. */
const MAX_PATHS = 10;
const MAX_PATH_LENGTH = 100;

export interface EventSchemaCheckerOptions {
  /** By the name of the event. */
  events: Readonly<Record<string, StandardSchema>>;
  onViolation: OnViolation;
}

/** Checks the properties of events. It only checks: the value that a schema returns is not what is sent. */
export class EventSchemaChecker {
  private readonly schemas: ReadonlyMap<string, StandardSchema>;
  private readonly onViolation: OnViolation;
  /** The first violation of each event, which is logged. Later ones are mostly alike. */
  private readonly first = new Map<string, string>();

  constructor(
    { events, onViolation }: EventSchemaCheckerOptions,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.schemas = new Map(Object.entries(events));
    this.onViolation = onViolation;
  }

  /**
   * Returns why a message is dropped, or `undefined`. Only the text for the log is the same for each event of a name:
   * senders decide on the fields that they get wrong, and each text has a line of its own.
   *
   * @throws InvalidMessageError for properties that cannot be copied; EventViolationError where `onViolation`
   *   says so
   */
  readonly refusal = (message: AnalyticsMessage): Refusal | undefined => {
    if (message.type !== 'track') return undefined;
    const { event } = message;
    const schema = this.schemas.get(event);
    const error = schema && violationOf(schema, message);
    if (error === undefined) return undefined;
    if (this.onViolation === 'throw') throw error;
    const known = this.first.get(event);
    if (known === undefined) this.first.set(event, error.message);
    if (this.onViolation === 'drop') {
      const { message: reason, forTenant } = error;
      return { kind: 'schema', reason, forTenant, logged: known };
    }
    if (known === undefined) {
      this.logger.warn(`${error.message}. It is sent all the same, as \`onViolation\` is 'warn'.`);
    }
    return undefined;
  };
}

/**
 * Names the fields that do not fit, never their values, which schemas quote in their messages. A schema that
 * cannot give an answer counts as a violation, whatever code of the application it runs.
 *
 * @throws InvalidMessageError for properties that cannot be copied
 */
function violationOf(schema: StandardSchema, message: TrackMessage): EventViolationError | undefined {
  const copy = new PropertiesCopy(message.properties);
  const before = copy.sharesObjects ? jsonOf(message.properties) : undefined;
  try {
    const problem = problemIn(schema['~standard'].validate(copy.properties));
    return problem === undefined ? undefined : new EventViolationError(message.event, problem);
  } catch (error) {
    return new EventViolationError(message.event, `the schema threw ${thrownAt(error)}`, 'the schema threw');
  } finally {
    if (before !== undefined && jsonOf(message.properties) !== before) {
      message.properties = JSON.parse(before) as JsonObject;
    }
  }
}

/** As it is sent; `undefined` if JSON cannot hold it, which refuses the message later. */
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
  return `\`${text.length > MAX_PATH_LENGTH ? `${text.slice(0, MAX_PATH_LENGTH)}…` : text}\``;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
