import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { CreatedDestination, NewDestination } from '../stored-destinations/destinations.types.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { withoutSecrets } from '../webhooks/diagnostics/explained-request.js';
import { emptyAnswer, jsonAnswer } from './api-answer.js';
import { type ApiRequest, invalid } from './api-request.js';
import type { OperationName } from './api-routes.js';
import type { CreationLimit } from './creation-limit.js';
import { openApiDocument } from './openapi/openapi-document.js';
import { FILTER_FIELDS, RequestInput } from './request-input.js';

/** Maximum number of failed messages in one answer. Each may have 32 KB. */
const MAX_FAILED = 100;
const MAX_FAILED_WITHOUT_BODIES = 1_000;
const DEFAULT_FAILED = 20;
const MAX_RECENT = 100;

/** Reason in the answer of a replay that left all messages alone. */
const DISABLED = 'DESTINATION_DISABLED';

type Operation = (request: ApiRequest) => Promise<HttpAnswer>;

/** Each method answers the requests of one route. */
export class Operations implements Record<OperationName, Operation> {
  constructor(
    private readonly destinations: DestinationsService,
    private readonly deliveries: DeliveriesService,
    /** Path of the API. */
    private readonly path: string,
    private readonly creations: CreationLimit,
  ) {}

  async list({ scope, query }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const tenant = tenantOf(scope.tenant, input.text('tenant'));
    const selection = { cursor: input.text('cursor'), limit: input.integer('limit', 1, 1_000) };
    input.check(['tenant', 'cursor', 'limit']);
    const page = await this.destinations.list({ ...selection, ...(tenant !== undefined && { tenant }) });
    // Few destinations are configured in code, so the first page has all of them.
    const configured =
      tenant === undefined && selection.cursor === undefined ? this.destinations.configured() : [];
    return jsonAnswer(200, { ...page, destinations: [...configured, ...page.destinations] });
  }

  async create({ scope, address, fields }: ApiRequest): Promise<HttpAnswer> {
    const tenant = tenantOf(scope.tenant, fields.tenant);
    // The service checks every field.
    const given = { ...fields, ...(tenant !== undefined && { tenant }) } as unknown as NewDestination;
    const create = (): Promise<CreatedDestination> => this.destinations.create(given);
    const created = await (scope.tenant === undefined ? create() : this.creations.run(scope.tenant, create));
    return jsonAnswer(201, created, { location: locationFrom(address, created.id) });
  }

  async get({ scope, id }: ApiRequest): Promise<HttpAnswer> {
    return jsonAnswer(200, await this.destinations.get(id, scope));
  }

  async update({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    const { version: given, ...update } = fields;
    const input = new RequestInput({ version: given });
    const version = input.integer('version', 0);
    input.check(['version']);
    // The service checks every field.
    const updated = await this.destinations.update(id, update, { ...scope, version });
    return jsonAnswer(200, updated);
  }

  async remove({ scope, id }: ApiRequest): Promise<HttpAnswer> {
    await this.destinations.delete(id, scope);
    return emptyAnswer();
  }

  async enable({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    new RequestInput(fields).check([]);
    return jsonAnswer(200, await this.destinations.enable(id, scope));
  }

  async disable({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(fields);
    const reason = input.text('reason');
    input.check(['reason']);
    return jsonAnswer(200, await this.destinations.disable(id, { ...scope, reason }));
  }

  async rotateSecret({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(fields);
    const overlap = input.integer('overlap', 0);
    input.check(['overlap']);
    return jsonAnswer(200, await this.destinations.rotateSecret(id, { ...scope, overlap }));
  }

  async sendTest({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    new RequestInput(fields).check([]);
    return jsonAnswer(200, { results: await this.destinations.sendTest(id, scope) });
  }

  async recent({ scope, id, query }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const limit = input.integer('limit', 1, MAX_RECENT);
    input.check(['limit']);
    return jsonAnswer(200, {
      deliveries: await this.deliveries.recent({ destination: id, ...scope, limit }),
    });
  }

  async stats({ scope, id, query }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const range = { from: input.time('from'), to: input.time('to') };
    input.check(['from', 'to']);
    return jsonAnswer(200, { hours: await this.deliveries.stats({ destination: id, ...scope, ...range }) });
  }

  async failed({ scope, id, query, signal }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const filter = input.filter();
    const start = input.integer('start', 0) ?? 0;
    const bodies = input.flag('bodies') ?? true;
    const limit =
      input.integer('limit', 1, bodies ? MAX_FAILED : MAX_FAILED_WITHOUT_BODIES) ?? DEFAULT_FAILED;
    const waiting = input.flag('waiting') ?? true;
    input.check([...FILTER_FIELDS, 'start', 'limit', 'waiting', 'bodies']);
    await this.destinations.get(id, scope);
    const end = start + limit - 1;
    const selection = { ...filter, destination: id, start, end, waiting, bodies, signal };
    const messages = await this.deliveries.failed(selection);
    return jsonAnswer(200, { messages });
  }

  async countFailed({ scope, id, query, signal }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const filter = input.filter();
    input.check(FILTER_FIELDS);
    await this.destinations.get(id, scope);
    const count = await this.deliveries.countFailed({ ...filter, destination: id, signal });
    return jsonAnswer(200, { count });
  }

  /** Answers with no requests if the message is not kept as failed, since its body is then unknown. */
  async explain({ scope, id, query, signal }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(query);
    const messageId = input.text('message') ?? '';
    input.check(['message']);
    const { readOnly } = await this.destinations.get(id, scope);
    const selection = { destination: id, messageIds: [messageId], end: 0, signal };
    const [message] = await this.deliveries.failed(selection);
    const requests = message === undefined ? [] : await this.deliveries.explain(message);
    return jsonAnswer(200, {
      requests: requests.map((request) => {
        // As in its details, the path of a destination in code is left out: it may be a secret from the environment.
        const { method, url, headers, body, curl } = withoutSecrets(request, readOnly);
        return { method, url, headers, body: body.toString(), curl };
      }),
    });
  }

  async replay({ scope, id, fields }: ApiRequest): Promise<HttpAnswer> {
    const input = new RequestInput(fields);
    const filter = input.filter();
    input.check(FILTER_FIELDS);
    const { enabled, readOnly } = await this.destinations.get(id, scope);
    const replayed = await this.deliveries.replay({ ...filter, destination: id });
    // What is configured in code is replayed all the same.
    const isDisabled = !enabled && !readOnly;
    return jsonAnswer(200, { replayed, ...(replayed === 0 && isDisabled && { reason: DISABLED }) });
  }

  describe(): Promise<HttpAnswer> {
    return Promise.resolve(jsonAnswer(200, openApiDocument(this.path)));
  }
}

/**
 * Returns the URL of a new destination, relative to the list that it was added to. The sender may know the list by a
 * proxy's path, which this process does not see.
 */
function locationFrom(address: string, id: string): string {
  const list = /[^/]*$/.exec(address.replace(/[?#].*$/s, ''))?.[0] ?? '';
  return list === '' ? `./${id}` : `./${list}/${id}`;
}

/**
 * Returns the tenant that a request is about. A tenant may only name itself.
 *
 * @param own the tenant that sends the request; `undefined` for the operator
 * @throws {InvalidRequest}
 */
function tenantOf(own: string | undefined, given: unknown): string | undefined {
  if (own !== undefined && given !== undefined && given !== own) {
    throw invalid('tenant', 'your own tenant, or none', given);
  }
  // A tenant that the operator gives is checked with the other fields.
  return own ?? (given as string | undefined);
}
