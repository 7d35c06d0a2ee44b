import { MESSAGE_TYPES } from '../../messages/message-builders.js';
import { MAX_MESSAGE_IDS } from '../request-input.js';

/** A JSON Schema, as in OpenAPI 3.1. */
export type Schema = Readonly<Record<string, unknown>>;

export const text = (description?: string): Schema => ({ type: 'string', description });
export const integer = (description?: string): Schema => ({ type: 'integer', description });
/** @param description without its unit */
export const time = (description: string): Schema =>
  integer(`${description}, in milliseconds since the epoch.`);
const list = (items: Schema, description?: string): Schema => ({ type: 'array', items, description });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** @param optional names of the properties that may be absent */
function object(properties: Record<string, Schema>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

const MESSAGE_TYPE: Schema = { type: 'string', enum: MESSAGE_TYPES };

/** Properties of a destination in both requests and answers. */
const COMMON: Record<string, Schema> = {
  name: text(),
  description: text(),
  events: list(text(), 'Names of `track` events, or prefixes of names with a trailing `*`. Default: all.'),
  types: list(MESSAGE_TYPE, 'Types of calls. Default: `track` if `events` is given, otherwise all.'),
  sources: list(text(), 'Names of sources that are not bound to another tenant, at least one. Default: all.'),
  timeout: integer('Milliseconds for a request and its answer. Default: 5000.'),
  retryWindow: integer('Milliseconds during which a message is retried. Default: 14400000 (4 hours).'),
  retryStatuses: list(
    { anyOf: [integer(), { const: '5xx' }] },
    'Statuses after which a message is retried. Default: 5xx, 408, 425, 429.',
  ),
  rateLimit: { type: 'number', description: 'Requests per second, over all processes. Default: no limit.' },
  metadata: { type: 'object', description: 'Data for your own use.' },
};

const URLS: Schema = { ...list(text()), minItems: 1, maxItems: 5 };

/** Properties of a destination in requests only: no answer repeats the values that a request gave. */
const SECRETS: Record<string, Schema> = {
  headers: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'At most 5 static headers.',
  },
  sharedSecret: text('Signs every request with `X-Signature`.'),
  standardWebhooks: {
    ...object({ secret: { anyOf: [text(), list(text())] } }),
    description: 'Signs every request according to Standard Webhooks.',
  },
};

const DESTINATION: Record<string, Schema> = {
  id: text(),
  tenant: text('Tenant whose messages it gets. Absent: all messages.'),
  urls: list(text(), 'Only the origins, if the destination is configured in code.'),
  ...COMMON,
  headers: list(text(), 'Names of the static headers. Absent if the secrets cannot be decrypted.'),
  signatures: list({ type: 'string', enum: ['X-Signature', 'webhook-signature'] }),
  enabled: { type: 'boolean' },
  readOnly: { type: 'boolean', description: 'It is configured in code. Only the operator sees it.' },
  disabledReason: text(),
  createdAt: time('When it was created'),
  updatedAt: time('When it was last changed'),
  version: integer('Grows with each change.'),
};
const OPTIONAL = ['tenant', ...Object.keys(COMMON), 'headers', 'signatures', 'disabledReason'];

const SECRET = text('The Standard Webhooks secret, shown only now.');

const OUTCOME: Record<string, Schema> = {
  url: text('A hash of the URL.'),
  class: { type: 'string', enum: ['delivered', 'retry', 'permanent'] },
  status: integer('The status of the response, if there was one.'),
  error: text('The code of the error, if there was no response.'),
  excerpt: text('The beginning of the response’s body.'),
  attempt: integer('From 1.'),
  at: time('When the attempt began'),
  duration: { type: 'number', description: 'In milliseconds.' },
};
const OPTIONAL_OUTCOME = ['status', 'error', 'excerpt'];

const PHASES: Record<string, Schema> = Object.fromEntries(
  ['dns', 'connect', 'tls', 'firstByte'].map((phase) => [phase, { type: 'number' }]),
);

const PERCENTILES = object({ p50: { type: 'number' }, p95: { type: 'number' }, p99: { type: 'number' } });

const MESSAGE_IDS: Schema = {
  ...list(text(), 'Only these messages. Ids that no failed message has are ignored.'),
  minItems: 1,
  maxItems: MAX_MESSAGE_IDS,
};

const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

/** Schemas of requests and answers, by their names in the document. */
export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Destination: object(DESTINATION, OPTIONAL),
  CreatedDestination: object({ ...DESTINATION, secret: SECRET }, [...OPTIONAL, 'secret']),
  DestinationPage: object(
    {
      destinations: list(
        ref('Destination'),
        'For the operator, the first page begins with the destinations configured in code, which do not count towards `limit`.',
      ),
      cursor: text('Where the next page begins. Absent on the last page.'),
    },
    ['cursor'],
  ),
  NewDestination: object(
    {
      urls: URLS,
      tenant: text('Only the operator can choose it. A tenant’s destinations belong to that tenant.'),
      ...COMMON,
      ...SECRETS,
      enabled: { type: 'boolean', default: true },
    },
    ['tenant', ...Object.keys(COMMON), ...Object.keys(SECRETS), 'enabled'],
  ),
  DestinationUpdate: {
    ...object(
      {
        version: integer('Refuses the change, with 409, if the destination has another version by now.'),
        urls: URLS,
        ...Object.fromEntries(
          Object.entries({ ...COMMON, ...SECRETS }).map(([name, schema]) => [name, nullable(schema)]),
        ),
      },
      ['version', 'urls', ...Object.keys(COMMON), ...Object.keys(SECRETS)],
    ),
    description: 'The fields to change; `null` resets a field to its default.',
  },
  Secret: object({ secret: SECRET }),
  TestResults: object({
    results: list(
      object(
        { ...OUTCOME, origin: text('The origin of the URL.'), phases: object(PHASES, Object.keys(PHASES)) },
        OPTIONAL_OUTCOME,
      ),
    ),
  }),
  RecentDeliveries: object({
    deliveries: list(
      object(
        {
          messageId: text(),
          type: MESSAGE_TYPE,
          event: text('The name of the event, for the type `track`.'),
          source: text('The name of the source.'),
          state: { type: 'string', enum: ['delivered', 'retrying', 'failed'] },
          error: text('The error code if it could not be tried at all.'),
          at: time('When it came into this state'),
          attempts: list(
            object({ ...OUTCOME, origin: text('The origin of the URL.') }, [...OPTIONAL_OUTCOME, 'origin']),
          ),
        },
        ['type', 'event', 'error'],
      ),
    ),
  }),
  HourStats: object({
    hours: list(
      object(
        {
          hour: time('When the hour began'),
          delivered: integer('Messages that a URL accepted.'),
          retried: integer('How often a message had to be retried.'),
          failed: integer('Messages that failed for good.'),
          durations: { ...PERCENTILES, description: 'How long the attempts took, in milliseconds.' },
        },
        ['durations'],
      ),
    ),
  }),
  FailedMessages: object({
    messages: list(
      object(
        {
          messageId: text(),
          type: MESSAGE_TYPE,
          destination: text(),
          source: text('The name of the source.'),
          failedAt: time('When it failed for good'),
          error: text('`DELIVERY_FAILED`, or why it could not be tried at all.'),
          waiting: {
            type: 'boolean',
            description:
              'Whether its batch is still retried for other messages. Until then it cannot be replayed.',
          },
          outcomes: list(object(OUTCOME, OPTIONAL_OUTCOME)),
          body: text('The JSON text as it is sent. Empty with `bodies=false`.'),
        },
        ['type'],
      ),
    ),
  }),
  FailedFilter: object(filterProperties(), Object.keys(filterProperties())),
  FailedCount: object({ count: integer('How many messages match, including those that a replay skips.') }),
  ExplainedRequests: object({
    requests: list(
      object({
        method: text(),
        url: text('Without its fragment.'),
        headers: list({ ...list(text()), minItems: 2, maxItems: 2 }, 'Names and values, as on the wire.'),
        body: text('Exactly what is sent.'),
        curl: text('A line for a POSIX shell that makes the same request.'),
      }),
    ),
  }),
  Replayed: object(
    {
      replayed: integer('How many messages are delivered again.'),
      reason: text('`DESTINATION_DISABLED`: none are, since the destination has to be enabled first.'),
    },
    ['reason'],
  ),
  Running: object({ running: { const: true } }),
  Error: object({
    error: object(
      {
        code: text('Stable; the message may change.'),
        message: text(),
        problems: list(
          object({ path: text('The field.'), expected: text(), given: text() }),
          'Everything that is wrong with the fields.',
        ),
      },
      ['problems'],
    ),
  }),
};

/** Returns the conditions on failed messages. A message has to meet all of them. */
export function filterProperties(): Record<string, Schema> {
  return {
    type: MESSAGE_TYPE,
    messageIds: { oneOf: [text('The id of a message.'), MESSAGE_IDS] },
    class: { type: 'string', enum: ['retry', 'permanent'] },
    status: integer('A status that a URL answered.'),
    error: text('The code of an error.'),
    source: text('The name of a source.'),
    from: time('Failed for good then or later'),
    to: time('Failed for good then or earlier'),
  };
}
