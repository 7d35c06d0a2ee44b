import type { OperationName } from '../api-routes.js';
import { filterProperties, integer, type Schema, text, time } from './schemas.js';

/** What the document says about an operation. */
export interface OperationDoc {
  summary: string;
  /** Fields of the query; none is required. */
  query?: Readonly<Record<string, Schema>>;
  /** Schema of the body, or its name. Without a schema, the body has no fields. */
  body?: string | Schema;
  status: 200 | 201 | 204;
  /** Schema of the answer, or its name. */
  answer?: string | Schema;
  /** Error statuses in addition to those of every operation. */
  errors?: readonly number[];
}

/** Documentation of each operation, by its name. */
export const OPERATION_DOCS: Readonly<Record<OperationName, OperationDoc>> = {
  list: {
    summary: 'A page of the destinations, in the order in which they were created.',
    query: {
      tenant: text('For the operator: only the destinations of this tenant.'),
      cursor: text('The `cursor` of the previous page.'),
      limit: { ...integer(), minimum: 1, maximum: 1_000, default: 100 },
    },
    status: 200,
    answer: 'DestinationPage',
    errors: [422, 501],
  },
  create: {
    summary: 'Adds a destination. Without a secret, one is created, which only this answer shows.',
    body: 'NewDestination',
    status: 201,
    answer: 'CreatedDestination',
    errors: [409, 422, 501],
  },
  get: { summary: 'A destination.', status: 200, answer: 'Destination' },
  update: {
    summary: 'Changes some fields. Waiting messages are delivered with the new fields.',
    body: 'DestinationUpdate',
    status: 200,
    answer: 'Destination',
    errors: [409, 422, 501],
  },
  remove: {
    summary: 'Deletes a destination. Waiting messages are dropped.',
    status: 204,
    errors: [409, 501],
  },
  enable: {
    summary: 'Enables a destination, and delivers the messages that were kept for it.',
    status: 200,
    answer: 'Destination',
    errors: [409, 422, 501],
  },
  disable: {
    summary: 'Disables a destination. Waiting messages are kept.',
    body: { type: 'object', properties: { reason: text('Shown as `disabledReason`.') } },
    status: 200,
    answer: 'Destination',
    errors: [409, 422, 501],
  },
  rotateSecret: {
    summary: 'Creates a new Standard Webhooks secret. During the overlap, the old one signs as well.',
    body: {
      type: 'object',
      properties: { overlap: { ...integer('In milliseconds.'), minimum: 0, default: 86_400_000 } },
    },
    status: 200,
    answer: 'Secret',
    errors: [409, 422, 501],
  },
  sendTest: {
    summary: 'Sends a signed test event to each URL at once, and returns what each answered.',
    status: 200,
    answer: 'TestResults',
    errors: [409, 422],
  },
  recent: {
    summary: 'The latest deliveries with their attempts, the latest first.',
    query: { limit: { ...integer(), minimum: 1, maximum: 100, default: 100 } },
    status: 200,
    answer: 'RecentDeliveries',
    errors: [422, 501],
  },
  stats: {
    summary: 'What happened in each hour of the last seven days, the oldest first.',
    query: {
      from: time('A time in the first hour; default: seven days ago'),
      to: time('A time in the last hour; default: now'),
    },
    status: 200,
    answer: 'HourStats',
    errors: [422, 501],
  },
  failed: {
    summary: 'The messages that failed for good and are kept, the latest first.',
    query: {
      ...filterProperties(),
      start: { ...integer('The position of the first message.'), minimum: 0, default: 0 },
      limit: { ...integer('At most 100 with bodies.'), minimum: 1, maximum: 1_000, default: 20 },
      waiting: {
        type: 'boolean',
        default: true,
        description:
          'False leaves out messages whose batch is still retried for others, so waiting jobs are not read.',
      },
      bodies: { type: 'boolean', default: true, description: 'False leaves the bodies empty.' },
    },
    status: 200,
    answer: 'FailedMessages',
    errors: [422],
  },
  countFailed: {
    summary:
      'How many messages that failed for good match. A replay with the same conditions may skip some of them, and ' +
      'skips all while the destination is disabled.',
    query: filterProperties(),
    status: 200,
    answer: 'FailedCount',
    errors: [422],
  },
  explain: {
    summary:
      'The requests that would be sent for a message that is kept as failed, one for each URL, without the ' +
      'values of the destination’s own headers. None for a message that is not kept.',
    query: { message: text('The id of the message.') },
    status: 200,
    answer: 'ExplainedRequests',
    errors: [409, 422],
  },
  replay: {
    summary:
      'Delivers messages again that failed for good: all of them, those that match, or those with the given ids. ' +
      'Delivers none while the destination is disabled.',
    body: 'FailedFilter',
    status: 200,
    answer: 'Replayed',
    errors: [422],
  },
  describe: { summary: 'This document.', status: 200, answer: { type: 'object' } },
};
