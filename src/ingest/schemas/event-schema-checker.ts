import { types } from 'node:util';
import { EventViolationError } from '../errors/event-violation.error.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { StandardSchema } from './standard-schema.types.js';
import type { TrackingLogger } from './tracking-log.js';

/** What is done with an event that does not fit its schema. */
export type OnViolation = 'drop' | 'warn' | 'throw';

export interface EventSchemaOptions {
  /** By the name of the event. */
  events: Readonly<Record<string, StandardSchema>>;
  onViolation: OnViolation;
}

/** Checks the properties of events. It only checks: what a schema makes of them is not what is sent. */
export class EventSchemas {
  private readonly schemas: ReadonlyMap<string, StandardSchema>;
  private readonly onViolation: OnViolation;
  /** The first violation of each event. One is told: the calls come by the thousand, and are wrong alike. */
  private readonly first = new Map<string, string>();

  constructor(
    { events, onViolation }: EventSchemaOptions,
    private readonly logger: TrackingLogger,
  ) {
    this.schemas = new Map(Object.entries(events));
    this.onViolation = onViolation;
  }

  /**
   * Returns why a message is to be dropped, if it is.
   *
   * @throws EventViolationError where `onViolation` says so
   */
  readonly refusal = (message: AnalyticsMessage): string | undefined => {
    if (message.type !== 'track') return undefined;
    const { event } = message;
    const schema = this.schemas.get(event);
    const violation = schema && violationOf(schema, message.properties);
    if (violation === undefined) return undefined;
    const error = new EventViolationError(event, violation);
    if (this.onViolation === 'throw') throw error;
    const known = this.first.get(event);
    if (known === undefined) this.first.set(event, error.message);
    if (this.onViolation === 'drop') return known ?? error.message;
    if (known === undefined) {
      this.logger.warn(`${error.message}. It is sent all the same, as \`onViolation\` is 'warn'.`);
    }
    return undefined;
  };
}

/** Where the properties do not fit, never how: the texts of schemas quote values. */
function violationOf(schema: StandardSchema, properties: unknown): string | undefined {
  const result = schema['~standard'].validate(properties);
  if (types.isPromise(result)) {
    result.catch(() => undefined);
    return 'the schema is asynchronous, and only synchronous ones can be checked';
  }
  if (!('issues' in result) || result.issues === undefined) return undefined;
  const paths = result.issues.map(({ path = [] }) =>
    [
      'properties',
      ...path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)),
    ].join('.'),
  );
  return [...new Set(paths)].map((path) => `\`${path}\``).join(', ');
}
