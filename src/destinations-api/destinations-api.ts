import type { IncomingMessage } from 'node:http';
import { thrownAt } from '../shared/thrown-at.js';
import { BodyReader } from '../http/body-reader.js';
import { ConnectionEnds } from '../http/connection-ends.js';
import type { HttpAnswer } from '../http/http-answer.js';
import { RequestRate } from '../http/request-rate.js';
import { RequestRefusal } from '../http/request-refusal.js';
import type { JsonObject } from '../messages/message.types.js';
import { TenantTurns } from '../shared/tenant-turns.js';
import { within } from '../shared/within.js';
import { notFound, queueUnavailable, refusedAnswer, runningAnswer, errorFor } from './api-answer.js';
import { type ApiRequest, checkContentType, queryOf } from './api-request.js';
import { apiPath, type ApiRoute, hasBody, mayGoOn, onlyReads, PATIENCE } from './api-routes.js';
import type { AuditLog } from './audit-log.js';
import type { Authorizer } from './authorizer.js';
import type { Operations } from './operations.js';
import { checkConsoleHeader, checkOrigin } from './request-origin.js';
import { RunningRequests } from './running-requests.js';

/** Largest body, in bytes. The 1,000 ids that a replay may name take 103 KB. */
export const MAX_BODY_BYTES = 128 * 1024;

/** Maximum number of one tenant's `changing` and `sending` requests at once, and also of its `reading` requests. */
const MAX_EXPENSIVE = 4;

/** Maximum number of `listing` requests at once. Each keeps the event loop busy for tens of milliseconds. */
const MAX_LISTING = 8;
/** Maximum number of `reading` requests at once. Each may read all jobs of the queue. */
const MAX_READING = 8;
/** Maximum number of replays at once. Each reads all failed jobs, of all tenants, and may take minutes. */
const MAX_REPLAYING = 8;
/** Maximum number of requests of one tenant at once, for each of these three kinds. */
const MAX_OF_TENANT = 2;

/** No control characters: the id is a key in databases. */
const ID = /^[^\p{Cc}]{1,200}$/u;

export interface DestinationsApiParts {
  authorizer: Pick<Authorizer, 'senderOf'>;
  operations: Operations;
  audit: AuditLog;
  logger: { error(message: string): void };
  /** Whether only the console's page may ask for changes. */
  isForConsole: boolean;
}

/** Lets an application's front end manage the destinations of the signed-in user. */
export class DestinationsApi {
  private readonly connections = new ConnectionEnds();
  private readonly bodies = new BodyReader({ maxBytes: MAX_BODY_BYTES, isOptional: true });
  /** By tenant; `''` stands for the operator. */
  private readonly changes = new RequestRate(() => performance.now(), 'changes');
  private readonly acts = new RunningRequests(MAX_EXPENSIVE);
  /** Counted apart from `acts`, so that pages that refresh themselves do not block changes. */
  private readonly reads = new RunningRequests(MAX_EXPENSIVE);
  private readonly listing = new TenantTurns(MAX_LISTING, MAX_OF_TENANT);
  private readonly reading = new TenantTurns(MAX_READING, MAX_OF_TENANT);
  private readonly replaying = new TenantTurns(MAX_REPLAYING, MAX_OF_TENANT);

  constructor(private readonly parts: DestinationsApiParts) {}

  /**
   * @param path below the path of the API
   * @throws {RequestRefusal}, and the errors of the services
   */
  async handle(path: string, raw: IncomingMessage & { originalUrl?: string }): Promise<HttpAnswer> {
    const sender = await this.parts.authorizer.senderOf(raw);
    const found = apiPath(path);
    if (found === undefined) throw new RequestRefusal(404, 'NOT_FOUND', 'The API has no such path.');
    const route = found.routes.find(({ method }) => method === raw.method);
    if (route === undefined) return wrongMethod(found.routes.map(({ method }) => method));
    if (route.method !== 'GET') {
      this.checkSender(raw);
      this.changes.count(sender.scope.tenant ?? '');
    }
    const id = idIn(found.id);
    const query = queryOf(raw.url ?? '');
    const fields = await this.fieldsOf(route, raw);
    const reading = new AbortController();
    const address = raw.originalUrl ?? raw.url ?? '';
    const request = { ...sender, id, address, query, fields, signal: reading.signal };
    if (!onlyReads(route)) return this.answerInTime(route, request);
    // Once the answer is given or the sender has hung up, nobody waits for the read any more.
    const end = (): void => {
      reading.abort();
    };
    const leave = this.connections.watch(raw, end);
    try {
      return await this.answerInTime(route, request);
    } finally {
      leave();
      end();
    }
  }

  /** Limits requests that use many shared resources. Tenants take turns with those that keep the process busy. */
  private async inTurn(route: ApiRoute, request: ApiRequest): Promise<HttpAnswer> {
    const { tenant = '' } = request.scope;
    const work = (): Promise<HttpAnswer> => this.parts.operations[route.operation](request);
    const turns = this.turnsOf(route);
    const take = (): Promise<HttpAnswer> => turns?.run(tenant, work, request.signal) ?? work();
    return this.runningOf(route)?.run(tenant, take) ?? take();
  }

  private turnsOf({ work, operation }: ApiRoute): TenantTurns | undefined {
    if (work === 'listing') return this.listing;
    if (work === 'reading') return this.reading;
    return operation === 'replay' ? this.replaying : undefined;
  }

  /** Returns `undefined` for requests that end soon: these are refused only if a tenant sends them too often. */
  private runningOf({ work }: ApiRoute): RunningRequests | undefined {
    if (work === 'quick' || work === 'listing') return undefined;
    return work === 'reading' ? this.reads : this.acts;
  }

  private async answerInTime(route: ApiRoute, request: ApiRequest): Promise<HttpAnswer> {
    const { operation } = route;
    const patience = PATIENCE[route.work];
    const { audit, logger } = this.parts;
    const work = this.inTurn(route, request);
    let answer: HttpAnswer | undefined;
    try {
      answer = await within(patience, work);
    } catch (error) {
      audit.failed(operation, request, error);
      throw errorFor(request.scope, error);
    }
    if (answer !== undefined) {
      audit.done(operation, request, answer);
      return answer;
    }
    audit.late(operation, request, patience);
    work.catch((error: unknown) => {
      if (error === request.signal.reason) return;
      logger.error(`A request failed after it had been answered: ${thrownAt(error)}`);
    });
    if (mayGoOn(route)) return runningAnswer();
    throw queueUnavailable(route.method !== 'GET');
  }

  /** Refuses requests from foreign pages, which also carry the cookies of the signed-in user. */
  private checkSender(raw: IncomingMessage): void {
    checkOrigin(raw);
    if (this.parts.isForConsole) checkConsoleHeader(raw);
  }

  private async fieldsOf(route: ApiRoute, raw: IncomingMessage): Promise<JsonObject> {
    if (!hasBody(route)) return {};
    checkContentType(raw);
    const { fields } = await this.bodies.read(raw);
    return fields;
  }
}

function wrongMethod(methods: readonly string[]): HttpAnswer {
  const allow = methods.join(', ');
  const refusal = new RequestRefusal(405, 'METHOD_NOT_ALLOWED', `This path supports only ${allow}.`);
  return refusedAnswer(refusal, { allow });
}

/** @throws {RequestRefusal} if the segment cannot be an id */
function idIn(segment: string): string {
  if (segment === '') return '';
  let id: string;
  try {
    id = decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
  if (!ID.test(id)) throw notFound();
  return id;
}
